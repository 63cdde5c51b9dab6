"""Offsets of thousands of partitions in one request."""

from brokertrial.suites.case import case
from brokertrial.wire import errors

ROWS, THERE, WITHIN_S = 2_000, 200, 30


@case(
    "commits/thousands-in-a-request",
    guarantees=["err-008", "cmt-009", "cmt-001", "cmt-002"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2},
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["B288"],
)
def each_is_committed_and_told(wire, topic_of, group, nodes, transactional_id, rng):
    """A commit of thousands of partitions MUST be answered for each of them once: those that are there are committed,
    the others are refused (3); OffsetFetch MUST tell each as it is, named or not, also after its coordinator was
    stopped or killed; and so it MUST be of a transaction.

    2,000 partitions, of which 200 are there, in a drawn order.
    """
    topic = topic_of(partitions=THERE, replicas=1)
    named = [(topic, partition) for partition in rng.sample(range(ROWS), ROWS)]
    _commit(wire.commit_all(group, {place: 10 + place[1] for place in named}), named)
    _must_be_told(wire, group, named, 10)
    if wire.versions("TxnOffsetCommit"):
        producer = wire.producer(transactional_id)
        _commit(producer.send_offsets(group, {place: 5_000 + place[1] for place in named}), named)
        _must_be_told(wire, group, named, 10)
        producer.commit().must_succeed()
        wire.eventually(lambda: _must_be_told(wire, group, named, 5_000), within=WITHIN_S)
    else:
        _commit(wire.commit_all(group, {place: 5_000 + place[1] for place in named}), named)
    rng.choice((nodes.stop_and_start, nodes.crash))(nodes.of_group(group))
    _must_be_told(wire, group, named, 5_000)


def _commit(answer, named):
    answer.examined = True
    rows = [(row.partition_index, row.error_code) for each in answer.struct.topics for row in each.partitions]
    due = sorted((number, 0 if number < THERE else errors.UNKNOWN_TOPIC_OR_PARTITION) for _, number in named)
    _must_be_equal(answer, sorted(rows), due, "the results")


def _must_be_told(wire, group, named, base):
    for asked in (named, None):
        answer = wire.committed_all(group, asked).must_succeed()
        found = sorted((partition, offset) for (_, partition), offset in answer.offsets.items())
        due = [(number, base + number) for number in range(THERE)]
        if asked is not None:
            due += [(number, -1) for number in range(THERE, ROWS)]
        _must_be_equal(answer, found, due, "the offsets")


def _must_be_equal(answer, found, due, what):
    others = sorted(set(found) ^ set(due))
    answer.must(
        not others and len(found) == len(due),
        f"{what} are for {len(found)} of {len(due)} partitions; {_shown(found, others)}; due is {_shown(due, others)}",
    )


def _shown(rows, others):
    """The first partition that differs, with its error or offset."""
    number = others[0][0] if others else -1
    return ", ".join(f"partition {each} has {value}" for each, value in rows if each == number) or "one is missing"
