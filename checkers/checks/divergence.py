"""divergence: two readers, or two replicas, hold different batches at one place of the log.

    asked node 1     batch 0..4 of producer 7    batch 5..9 of producer 7
    asked node 2     batch 0..4 of producer 7    batch 5..6 of producer 8     -> they diverge at 5
    asked node 1     batch 0..4                  batch 3..9                   -> the second begins inside the first

Compared are producer id, epoch, sequence, last offset, leader epoch, kind of marker: what every replica has from its
leader byte by byte. Only what readers were handed counts, which lies below the high watermark. Cleaning rewrites
batches, so that compacted topics are left out; where unclean election is allowed, one leader epoch is compared at a
time. Records that differ at one offset are `inconsistent-offsets`, whoever stored them.
Source: Kafka documentation, "Replication"; KIP-101; catalogue repl-009, ord-001.
"""

NAME = "divergence"
GUARANTEE = "repl-009"
STRENGTH = "integrity"
OBSERVES = ("send",)
STANDS_ALONE = True
HARMS = True
NEEDS = ("batches.base_offset", "batches.last_offset", "batches.producer_id", "batches.base_sequence")
SUBJECT = "SELECT DISTINCT v.history FROM views v"
OTHERWISE = "no reader was handed batches whose headers were kept"
QUERY = """
    SELECT x.history, x.topic, x.partition, x.offset_a, x.offset_b, s.op AS op_a, t.op AS op_b, s.value AS value_a,
        CASE WHEN x.offset_a = x.offset_b THEN 'differs from reader to reader'
             ELSE 'begins inside another batch that was handed out' END AS how
    FROM (
        SELECT v.history, v.topic, v.partition, v.base_offset AS offset_a, v.base_offset AS offset_b
        FROM views v JOIN histories h ON h.history = v.history
        GROUP BY v.history, v.topic, v.partition, v.base_offset,
            CASE WHEN h.unclean_election THEN COALESCE(v.leader_epoch, -1) ELSE -1 END
        HAVING MIN(v.last_offset) <> MAX(v.last_offset) OR MIN(v.producer_id) <> MAX(v.producer_id)
            OR MIN(v.producer_epoch) <> MAX(v.producer_epoch) OR MIN(v.base_sequence) <> MAX(v.base_sequence)
            OR MIN(v.leader_epoch) <> MAX(v.leader_epoch) OR MIN(v.transactional) <> MAX(v.transactional)
            OR MIN(COALESCE(v.control, '')) <> MAX(COALESCE(v.control, ''))
        UNION
        SELECT b.history, b.topic, b.partition, b.covered, b.base_offset
        FROM logged_batches b JOIN histories h ON h.history = b.history AND NOT h.unclean_election
        WHERE b.base_offset <= b.covered
    ) x
    LEFT JOIN senders_at s ON s.history = x.history AND s.topic = x.topic AND s.partition = x.partition
        AND s.log_offset = x.offset_a
    LEFT JOIN senders_at t ON t.history = x.history AND t.topic = x.topic AND t.partition = x.partition
        AND t.log_offset = x.offset_b
    """
SENTENCE = "The batch at offset {offset_b} of {topic}-{partition} {how}."
