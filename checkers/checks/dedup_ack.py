"""dedup-ack: one batch, sent again after a lost response, was acknowledged at two offsets.

    producer 7, epoch 0, sequence 5..9      acknowledged at 100
    the same, sent again                    acknowledged at 105     -> it must be 100 again

The same producer id, epoch and sequence name the same batch. Counted are responses to producers that ask all in-sync
replicas (what one leader of several took alone may be truncated, and stored anew). An answer without an offset, or
DUPLICATE_SEQUENCE_NUMBER, is right too.
Source: KIP-98, "Producer retries"; catalogue idem-002.
"""

NAME = "dedup-ack"
GUARANTEE = "idem-002"
STRENGTH = "integrity"
OBSERVES = ("send",)
STANDS_ALONE = True
NEEDS = ("batches.base_offset", "batches.base_sequence", "batches.error", "batches.client", "clients.acks")
SUBJECT = "SELECT DISTINCT t.history FROM told_appends t"
OTHERWISE = "no link passed an acknowledged batch with a sequence number"
QUERY = """
    SELECT x.history, x.topic, x.partition, x.offset_a, x.offset_b, s.op AS op_a, t.op AS op_b,
        x.producer_id, x.producer_epoch, x.base_sequence
    FROM told_appends x
    LEFT JOIN senders_at s ON s.history = x.history AND s.topic = x.topic AND s.partition = x.partition
        AND s.log_offset = x.offset_a
    LEFT JOIN senders_at t ON t.history = x.history AND t.topic = x.topic AND t.partition = x.partition
        AND t.log_offset = x.offset_b
    WHERE x.offset_a <> x.offset_b
    """
SENTENCE = (
    "The batch of producer {producer_id}, epoch {producer_epoch}, sequence {base_sequence} was acknowledged at offset "
    "{offset_a} of {topic}-{partition} and again at {offset_b}."
)
