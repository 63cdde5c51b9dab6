"""lost-latest: cleaning took the newest record of a key.

    log          k1=a   k2=b   k1=c
    cleaned      k2=b                       -> c, the last of k1, is gone
    cleaned      k2=b   k1=c                is right

Judged in topics that are only compacted, where a last read reached the end (event `final-read`, with its client), for
acknowledged records of durable producers that are the highest of their key and no tombstones. A key of which a send has
an unknown outcome, or an unknown place, may have a newer one, and is left out.
Source: Kafka documentation, "Log Compaction"; catalogue comp-001.
"""

NAME = "lost-latest"
GUARANTEE = "comp-001"
STRENGTH = "durability"
OBSERVES = ("send",)
HARMS = True
NEEDS = ("records.key", "records.offset", "records.value", "records.tombstone", "events.client", "clients.acks")
SUBJECT = """
    SELECT DISTINCT s.history FROM sent s
    JOIN topics k ON k.history = s.history AND k.topic = s.topic AND k.compacted
    """
OTHERWISE = "nothing was sent to a compacted topic"
GAPS = """
    SELECT DISTINCT s.history, s.topic, s.partition FROM sent s
    JOIN topics k ON k.history = s.history AND k.topic = s.topic AND k.compacted AND NOT k.deletes
    LEFT JOIN last_reads f ON f.history = s.history AND f.topic = s.topic AND f.partition = s.partition
    WHERE s.outcome = 'ok' AND f.topic IS NULL
    """
WITHHELD = "{topic}-{partition} was not read to its end after it was cleaned"
QUERY = """
    SELECT l.history, l.topic, l.partition, l.log_offset AS offset_a, l.value AS value_a, l.op AS op_a, l.record_key,
        l.log_end
    FROM latest_of_keys l
    LEFT JOIN found r ON r.history = l.history AND r.topic = l.topic AND r.partition = l.partition
        AND r.client = l.client AND r.log_offset = l.log_offset
    LEFT JOIN trimmed b ON b.history = l.history AND b.topic = l.topic AND b.partition = l.partition
    WHERE l.durable AND r.log_offset IS NULL AND l.log_offset < l.log_end
        AND (b.low IS NULL OR l.log_offset >= b.low)
    """
SENTENCE = (
    "Value {value_a} at {topic}-{partition} offset {offset_a} is the newest of key {record_key}, but the final "
    "read, to {log_end}, did not find it."
)
