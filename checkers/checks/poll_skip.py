"""poll-skip: a stream went past a record that others found there; int-poll-skip when it did so within one poll.

    log           a   b   c         offsets 0, 1, 2; some reader saw b
    stream 1      a       c         -> skipped b (one poll returned a and c: int-poll-skip)

A stream is what one consumer delivers of one partition between two assignments, seeks or revocations, so that what a
rebalance repeats or leaves to others is no skip. A read_committed stream must show what another one showed; it may pass
records of transactions that did not commit. Offsets that nobody ever saw (markers, compacted or deleted records) are no
records. What nobody read at all is `lost-write`.
Source: KafkaConsumer javadoc, "Offsets and Consumer Position"; Jepsen's kafka workload.
"""

NAME = "poll-skip"
GUARANTEE = "ord-007"
STRENGTH = "order"
NEEDS = ("records.offset", "records.value", "records.stream", "records.prev_offset")
SUBJECT = "SELECT DISTINCT r.history FROM reading r WHERE r.in_streams"
OTHERWISE = "no stream delivered two records"
QUERY = """
    SELECT j.history, j.topic, j.partition, j.op AS op_a, MIN(v.log_offset) AS offset_a, j.log_offset AS offset_b,
        MIN(v.value) AS value_a, j.value AS value_b, MIN(v.op) AS op_b, MIN(b.op) AS op_c,
        j.prev_offset AS before, COUNT(DISTINCT v.log_offset) AS skipped,
        CASE WHEN MIN(CASE WHEN b.op = j.op THEN 0 ELSE 1 END) = 0 THEN 'int-poll-skip' ELSE 'poll-skip' END AS name
    FROM jumps j
    JOIN skippable v ON v.history = j.history AND v.topic = j.topic AND v.partition = j.partition
        AND v.log_offset > j.prev_offset AND v.log_offset < j.log_offset
        AND (v.committed OR NOT j.committed_only)
    LEFT JOIN seen b ON b.history = j.history AND b.stream = j.stream AND b.topic = j.topic
        AND b.partition = j.partition AND b.log_offset = j.prev_offset
    GROUP BY j.history, j.topic, j.partition, j.op, j.client, j.stream, j.prev_offset, j.log_offset, j.value
    """
SENTENCE = (
    "A stream of {topic}-{partition} went from offset {before} to {offset_b} past {skipped} record(s) "
    "that were there: operation {op_b} read offset {offset_a}."
)
