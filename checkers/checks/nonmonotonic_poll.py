"""nonmonotonic-poll: a stream delivered an offset again, or went back; int-nonmonotonic-poll when within one poll.

    stream 1   offsets   0   1   2   |   2   3      -> 2 after 2: went back, across polls
    stream 1   offsets   0   2   1   |              -> 1 after 2: went back within a poll

A seek, a new assignment, a revocation begin a new stream, so that legal repetition is not seen here.
Source: KafkaConsumer javadoc, "Offsets and Consumer Position"; Jepsen's kafka workload.
"""

NAME = "nonmonotonic-poll"
GUARANTEE = "ord-007"
STRENGTH = "order"
OBSERVES = ("poll",)
STANDS_ALONE = True
NEEDS = ("records.offset", "records.stream", "records.prev_offset")
SUBJECT = "SELECT DISTINCT r.history FROM reading r WHERE r.in_streams"
OTHERWISE = "no stream delivered two records"
QUERY = """
    SELECT r.history, r.topic, r.partition, r.prev_offset AS offset_a, r.log_offset AS offset_b, r.value AS value_b,
        MIN(b.op) AS op_a, r.op AS op_b,
        CASE WHEN MIN(b.op) = r.op THEN 'int-nonmonotonic-poll' ELSE 'nonmonotonic-poll' END AS name
    FROM found r
    JOIN histories h ON h.history = r.history AND (h.nodes = 1 OR NOT h.unclean_election)
    LEFT JOIN found b ON b.history = r.history AND b.client = r.client AND b.stream = r.stream AND b.topic = r.topic
        AND b.partition = r.partition AND b.log_offset = r.prev_offset AND b.place = r.place - 1
    WHERE r.log_offset <= r.prev_offset
    GROUP BY r.history, r.topic, r.partition, r.client, r.stream, r.place, r.prev_offset, r.log_offset, r.value, r.op
    """
SENTENCE = "A stream of {topic}-{partition} delivered offset {offset_b} after offset {offset_a}."
