"""Whatever is produced, drawn: good batches and bad ones side by side, by settings that change, and all read back."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.produce._requests import WhatIsSent

APIS = {"Produce": 3, "InitProducerId": 0, "IncrementalAlterConfigs": 0, "DescribeConfigs": 1}
MORE = {"DeleteRecords": 0, "CreatePartitions": 0}
NEEDS = ["topic-settings", "partitions"]
COMMON = (*["send"] * 8, *["alone"] * 3, *["unheard"] * 2, *["change"] * 3, "nothing", "unknown acks", "read")
STEPS = (*COMMON, "trim", "grow")


@case(
    "produce/whatever-is-sent",
    guarantees=[
        *("prod-001", "prod-004", "prod-006", "prod-007", "prod-008", "prod-011", "prod-013", "prod-017"),
        *("rec-001", "rec-002", "rec-003", "rec-004", "rec-006", "rec-007", "idem-002", "idem-003"),
    ],
    apis=APIS | MORE,
    needs=NEEDS,
    detects=["N21", "N23", "N24", "N25", "N26", "N27"],
)
def what_is_sent_is_taken_or_refused_row_by_row(wire, topic_of, rng):
    """Whatever else a Produce holds, in whatever version, each batch MUST be accepted or refused by its own content and
    by its topic's settings at that time, and the answer MUST report each partition once: error code, offset, the
    broker's time, the log's start. An accepted batch MUST be read as it was sent, key, value, headers and times, in
    order; nothing of a refused one may be read.

    300 drawn steps on three topics, one of them compacted: up to twelve partitions in a request, all codecs, acks and
    forms of a record; beside good batches those of too many bytes, of a wrong checksum or count, out of time, without a
    key, for partitions that do not exist. Settings change in between, partitions are added and logs trimmed.
    """
    _follow(wire, topic_of, rng, in_full=False)


@case(
    "produce/whatever-is-sent-in-full",
    guarantees=["prod-012", "rec-009"],
    level="should",
    apis=APIS | MORE | {"Produce": 8},
    needs=NEEDS,
    detects=["N22"],
)
def what_is_sent_is_stored_and_named_as_kafka_does(wire, topic_of, rng):
    """What is stored SHOULD have the codec of its topic, or the producer's where the topic leaves it to the producer,
    and a refusal because of records SHOULD name each of those and no other, with the reason (from version 8 on).

    300 steps as where only what must be so is looked at.
    """
    _follow(wire, topic_of, rng, in_full=True)


def _follow(wire, topic_of, rng, *, in_full):
    sent = WhatIsSent(wire, topic_of, rng, in_full=in_full)
    for _ in range(300):
        sent.step(rng.choice(STEPS))
    sent.must_be_read()


@case(
    "produce/whatever-is-sent-over-restarts",
    guarantees=["prod-001", "prod-002", "prod-004", "prod-018", "rec-001", "rec-002", "rec-003", "idem-002"],
    apis=APIS,
    needs=[*NEEDS, "leaders", "kill", "restart"],
    detects=["N28"],
)
def what_is_sent_outlives_its_leaders(wire, topic_of, rng, nodes):
    """Accepted batches, in whatever form, MUST be read as they were sent, in order, each once, and refused ones not at
    all, after their leader was stopped or killed too. Changed settings are in force, and the newest batch of each
    producer is known: a duplicate is answered with its offset, and a gap is refused.

    As without restarts, 60 drawn steps before, between and after a clean stop and a kill.
    """
    sent = WhatIsSent(wire, topic_of, rng, in_full=False, leaders_move=True)
    for act in (nodes.stop_and_start, nodes.crash, None):
        for _ in range(60):
            sent.step(rng.choice(COMMON))
        sent.must_be_read()
        if act is not None:
            topics = list(sent.topics.rules)
            act(nodes.of(rng.choice(topics), rng.randrange(2)))
            for topic in topics:
                wire.await_topic(topic)
            sent.forget()
            sent.must_be_read()
