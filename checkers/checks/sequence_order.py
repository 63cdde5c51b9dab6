"""sequence-gap, sequence-repeat, zombie-append: batches of a producer were stored that the broker had to refuse.

    sequences of producer 7, epoch 0, along the log
        0..4   5..9   15..19                -> sequence-gap: 10..14 are missing, and later ones were let in
        0..4   5..9   5..9                  -> sequence-repeat: what was stored already was stored again
    epochs    0   1   0                     -> zombie-append: epoch 0 was fenced when epoch 1 wrote

Judged between two batches only when all that lies between them was handed to some reader. A new epoch begins at
sequence 0. The very first batch of a producer may begin anywhere (the broker may have forgotten it: Kafka 2.5), and so
may the first after records were cut off. Sequences wrap from 2^31-1 to 0. Markers carry no sequence.
Source: KIP-98, KIP-360; catalogue idem-002, idem-004, idem-005, idem-009.
"""

NAME = "sequence-order"
GUARANTEE = "idem-005"
STRENGTH = "integrity"
DECIDES = ("idem-005", "idem-002", "idem-003", "idem-006", "idem-007", "idem-008", "ord-002", "ord-003")
OBSERVES = ("send",)
STANDS_ALONE = True
HARMS = True
NEEDS = ("batches.base_offset", "batches.last_offset", "batches.producer_id", "batches.base_sequence")
SUBJECT = "SELECT DISTINCT b.history FROM chains b"
OTHERWISE = "no batch of an idempotent producer was handed to a reader"
QUERY = """
    SELECT x.history, x.topic, x.partition, x.before_offset AS offset_a, x.base_offset AS offset_b, s.op AS op_a,
        t.op AS op_b, x.name, x.producer_id, x.producer_epoch, x.base_sequence, x.expected, x.before_epoch
    FROM (
        SELECT c.history, c.topic, c.partition, c.before_offset, c.base_offset, c.producer_id, c.producer_epoch,
            c.base_sequence, c.before_epoch,
            CASE WHEN c.producer_epoch > c.before_epoch THEN 0 ELSE (c.before_sequence + 1) % 2147483648 END
                AS expected,
            CASE WHEN c.producer_epoch < c.before_epoch THEN 'zombie-append'
                 WHEN c.producer_epoch > c.before_epoch THEN 'sequence-gap'
                 WHEN (c.base_sequence - c.before_sequence - 1 + 4294967296) % 2147483648 < 1073741824
                     THEN 'sequence-gap'
                 ELSE 'sequence-repeat' END AS name
        FROM chains c
        LEFT JOIN trimmed b ON b.history = c.history AND b.topic = c.topic AND b.partition = c.partition
        WHERE c.before_offset IS NOT NULL AND c.hole = c.before_hole AND (b.low IS NULL OR c.before_offset >= b.low)
    ) x
    LEFT JOIN senders_at s ON s.history = x.history AND s.topic = x.topic AND s.partition = x.partition
        AND s.log_offset = x.before_offset
    LEFT JOIN senders_at t ON t.history = x.history AND t.topic = x.topic AND t.partition = x.partition
        AND t.log_offset = x.base_offset
    WHERE x.producer_epoch < x.before_epoch OR x.base_sequence <> x.expected
    """
SENTENCE = (
    "{topic}-{partition} holds at offset {offset_b} a batch of producer {producer_id} with epoch {producer_epoch} and "
    "sequence {base_sequence}, after the one at {offset_a} of epoch {before_epoch}; next was sequence {expected}."
)
