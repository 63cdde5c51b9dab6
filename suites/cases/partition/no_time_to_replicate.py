"""Produce with acks=all that leaves its broker no time to replicate (a timeout of 0 ms)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.replication._roles import all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors

COPIES, ALONE = {"min.insync.replicas": "2"}, {"min.insync.replicas": "1"}
TIMEOUTS_MS = (0, 1, 50)


@case(
    "partition/no-time-to-replicate",
    guarantees=["prod-010", "repl-010"],
    needs=NEEDS,
    apis={"CreateTopics": 5},
    detects=["B349"],
)
def it_times_out_at_once(wire, nodes, rng):
    """A Produce with acks=all whose timeout is 0 ms, or little more, MUST be answered with REQUEST_TIMED_OUT (7) where
    an in-sync follower lacks the record, while it still counts as in sync; where the leader alone has to have it, with
    its offset. What timed out may be in the log all the same, or not.

    No follower gets anything from the leader; one that were waited for would be out of sync, and too few be left (20).
    """
    leader, follower, _ = rng.sample(wire.nodes, 3)
    alone = placed(wire, "alone", [leader], **ALONE)
    waits = [placed(wire, f"waits{number}", [leader, follower], **COPIES) for number, _ in enumerate(TIMEOUTS_MS)]
    for topic in waits:
        all_in_sync(wire, topic)
        wire.produce(topic, batch("before")).must_be_at(0)
    with apart(nodes, leader, "brokers"):
        for topic, timeout_ms in zip(waits, TIMEOUTS_MS, strict=True):
            sent = wire.produce_all(
                {(topic, 0): batch("late"), (alone, 0): batch("a")}, timeout_ms=timeout_ms, to=leader
            )
            sent.of(alone).must_succeed()
            code = sent.of(topic).error
            if code == errors.NOT_ENOUGH_REPLICAS:
                wire.unclear("the follower was out of sync before the record was sent", "slow-target")
            timed_out = code == errors.REQUEST_TIMED_OUT
            sent.must(timed_out, f"with {timeout_ms} ms it is answered {errors.name(code)}, and its follower lacks it")
    for topic in waits:
        all_in_sync(wire, topic)
        log = wire.read_all(topic)
        either = [[b"before"], [b"before", b"late"]]
        log.must(log.values in either, f"the records are {log.values}; they must be one of {either}")
    wire.read_all(alone).must_hold(*["a"] * len(waits))
