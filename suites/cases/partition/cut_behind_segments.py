"""A log of several segments, the last of which are given up: what the ones before them hold of producers is known."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, take_over
from brokertrial.suites.cases.replication._roles import all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart

SMALL = {"min.insync.replicas": "1", "segment.bytes": "1048576"}
BYTES = 700_000
"""Of one batch: no two of them are in one segment."""
BEFORE, GIVEN_UP, NAME = 2, 3, 8


@case(
    "partition/producers-of-older-segments",
    guarantees=["idem-001", "idem-008", "repl-009"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "InitProducerId": 0, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["B44", "B47"],
)
def what_is_sent_again_is_known(wire, nodes, rng):
    """When a leader has given up the last segments of its log, and leads again, it MUST recognise a batch of an
    idempotent producer in an older segment that is sent again: it is answered with the offset where it is, and nothing
    is appended.

    The batch is the first one, or behind the first segment; the follower gets nothing of what is given up.
    """
    leader, follower, _ = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, follower], **SMALL)
    all_in_sync(wire, topic)
    producer = wire.producer()
    base = rng.randrange(BEFORE)
    for number in range(base):
        wire.produce(topic, _large(number)).must_be_at(number)
    sent = producer.prepared(topic, "once")
    sent().must_be_at(base)
    for number in range(base + 1, BEFORE + 1):
        wire.produce(topic, _large(number)).must_be_at(number)
    end = BEFORE + 1
    with apart(nodes, follower, "brokers", [leader]):
        for number in range(GIVEN_UP):
            wire.produce(topic, _large(1000 + number), acks=1).must_be_at(end + number)
        take_over(wire, topic, [follower, leader])
    wire.refresh_metadata(topic)
    wire.produce(topic, batch("on both")).must_be_at(end)
    held = [*(b"once" if number == base else _named(number) for number in range(end)), b"on both"]
    for order in ([follower, leader], [leader, follower]):
        all_in_sync(wire, topic)
        take_over(wire, topic, order)
        wire.refresh_metadata(topic)
        sent().must_be_at(base)
        wire.list_offsets(topic).must_name(offset=end + 1)
        log = wire.read_all(topic)
        log.must_have_offsets(range(end + 1))
        names = [value[:NAME] for value in log.values]
        log.must(names == held, f"its records are {names}; they must be {held}")
    producer.send(topic, "next").must_be_at(end + 1)


def _large(number):
    return batch(_named(number) + b"x" * BYTES)


def _named(number):
    return f"{number:{NAME}}".encode()
