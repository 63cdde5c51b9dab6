"""poll-skip: a stream went past a record that others found there; int-poll-skip when it did so within one poll.

    log           a   b   c         offsets 0, 1, 2; some reader saw b
    stream 1      a       c         -> skipped b (one poll returned a and c: int-poll-skip)

A stream is what one consumer delivers of one partition between two assignments, seeks or revocations, so that what a
rebalance repeats or leaves to others is no skip. A read_committed stream must show what another one showed; it may pass
records of transactions that did not commit. Offsets that no reader ever saw (markers, compacted or deleted records) are
no records. What no reader read at all is `lost-write`.
Source: KafkaConsumer javadoc, "Offsets and Consumer Position"; Jepsen's kafka workload.
"""

NAME = "poll-skip"
GUARANTEE = "ord-007"
STRENGTH = "order"
DECIDES = ("ord-007", "fetch-015")
OBSERVES = ("poll",)
STANDS_ALONE = True
NEEDS = ("records.offset", "records.value", "records.stream", "records.prev_offset")
SUBJECT = "SELECT DISTINCT r.history FROM reading r WHERE r.in_streams"
OTHERWISE = "no stream delivered two records"
QUERY = """
    SELECT m.history, m.topic, m.partition, m.op AS op_a, m.first_skipped AS offset_a, m.log_offset AS offset_b,
        MIN(v.value) AS value_a, m.value AS value_b, MIN(v.op) AS op_b, MIN(b.op) AS op_c,
        m.prev_offset AS before, m.skipped,
        CASE WHEN MIN(b.op) = m.op THEN 'int-poll-skip' ELSE 'poll-skip' END AS name
    FROM (
        SELECT j.history, j.topic, j.partition, j.op, j.client, j.stream, j.place, j.prev_offset, j.log_offset, j.value,
            j.committed_only, MIN(v.log_offset) AS first_skipped, COUNT(DISTINCT v.log_offset) AS skipped
        FROM jumps j
        JOIN skippable v ON v.history = j.history AND v.topic = j.topic AND v.partition = j.partition
            AND v.log_offset > j.prev_offset AND v.log_offset < j.log_offset
            AND (v.committed OR NOT j.committed_only)
        GROUP BY j.history, j.topic, j.partition, j.op, j.client, j.stream, j.place, j.prev_offset, j.log_offset,
            j.value, j.committed_only
    ) m
    JOIN skippable v ON v.history = m.history AND v.topic = m.topic AND v.partition = m.partition
        AND v.log_offset = m.first_skipped AND (v.committed OR NOT m.committed_only)
    LEFT JOIN found b ON b.history = m.history AND b.client = m.client AND b.stream = m.stream AND b.topic = m.topic
        AND b.partition = m.partition AND b.log_offset = m.prev_offset AND b.place = m.place - 1
    GROUP BY m.history, m.topic, m.partition, m.op, m.client, m.stream, m.place, m.prev_offset, m.log_offset, m.value,
        m.first_skipped, m.skipped
    """
SENTENCE = (
    "A stream of {topic}-{partition} went from offset {before} to {offset_b} past {skipped} record(s) "
    "that were there: operation {op_b} read offset {offset_a}."
)
