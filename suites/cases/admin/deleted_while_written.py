"""Topics that are deleted while they are written to, and while their newest segments are made safe."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.at_once import at_once
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, request

WRITERS, WITHIN_S = 4, 30
SMALL, LARGE = (2_000, "2400", 6, 8, 2, 12), (530_000, "1048576", 2, 2, 1, 6)
"""Bytes of a record, segment.bytes, rounds, topics, partitions, and batches of each, every one a segment of its own."""
GONE = (errors.UNKNOWN_TOPIC_OR_PARTITION, errors.UNKNOWN_TOPIC_ID, errors.NOT_LEADER_OR_FOLLOWER)


@case(
    "admin/deleted-while-written",
    guarantees=["adm-006", "prod-001"],
    apis={"CreateTopics": 5, "DeleteTopics": 1, "Produce": 3},
    detects=["B210"],
)
def a_deletion_in_the_middle_of_writes_harms_no_other_topic(wire, topic_of, rng):
    """Topics that are deleted while they are written to MUST be gone, and the broker MUST go on to serve the others:
    what was acknowledged of those is there, and more can be written.

    Four connections write batches that each begin a segment, to eight topics of two partitions at once; all topics are
    deleted once a third was answered, six times over. Where segments of 2 kB are refused, two rounds with larger ones.
    """
    tried = wire.create_topic(wire.name("tried"), configs={"segment.bytes": SMALL[1]}, validate_only=True)
    size, segment, rounds, *shape = LARGE if tried.error else SMALL
    kept, values = topic_of(what="kept", configs={"segment.bytes": segment}), []
    for _ in range(rounds):
        names = _made(wire, shape[0], shape[1], segment)
        value, next_value = rng.randbytes(size), rng.randbytes(size)
        with wire.together():
            writes = [ask() for ask in _writes(wire, rng, names, size, *shape[1:])]
            own = wire.produce(kept, batch(value), via="of the kept", wait=False)
        for answer in writes[: len(writes) // 3]:
            answer.must_succeed()
        _delete_at_once(wire, names)
        for answer in writes:
            answer.must(answer.error in (0, *GONE), f"a write is refused with {errors.name(answer.error)}")
        values += [value, next_value]
        with wire.the_subject():
            own.must_be_at(len(values) - 2)
            wire.produce(kept, batch(values[-1])).must_be_at(len(values) - 1)
        for name in names:
            wire.eventually(
                lambda name=name: wire.metadata(name).must_have("topics[0].error_code", GONE[0]), within=WITHIN_S
            )
    with wire.the_subject():
        wire.read_all(kept).must_hold(*values)


def _made(wire, topics, partitions, segment):
    names = [wire.name("t") for _ in range(topics)]
    rows = [wire.topic_row(name, partitions, 1, {"segment.bytes": segment}) for name in names]
    for row in wire.create_topics(rows).struct.topics:
        wire.must(row.error_code == 0, f"a topic is refused with {errors.name(row.error_code)}")
    for name in names:
        wire.await_topic(name)
    return names


def _writes(wire, rng, names, size, partitions, batches):
    return [
        partial(
            wire.produce, name, batch(rng.randbytes(size)), part, acks=1, via=f"writer {number % WRITERS}", wait=False
        )
        for _ in range(batches)
        for number, name in enumerate(names)
        for part in range(partitions)
    ]


def _delete_at_once(wire, names):
    asks = [partial(_delete, wire, name, f"deleter {number}") for number, name in enumerate(names)]
    for answer in at_once(wire, asks):
        answer.must_succeed()
    wire.deleted_topics.update(names)


def _delete(wire, name, via, **how):
    asked = request(
        "DeleteTopics", topics=[{"name": name, "topic_id": ZERO_UUID}], topic_names=[name], timeout_ms=20_000
    )
    return wire.ask(asked, to=wire.controller, via=via, may_take_s=20, **how)
