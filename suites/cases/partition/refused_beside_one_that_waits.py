"""A Produce of several partitions, of which all but one are refused at once: the one still waits for its followers."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.partition.decided_too_early import code_of
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.suites.probe.rendering import errors_in
from brokertrial.wire.messages import request

COPIES, ALONE = {"min.insync.replicas": "2"}, {"min.insync.replicas": "1"}
SOON_S, LONG_MS, LIMIT = 1.5, 60_000, 1_000
UNKNOWN, TOO_LARGE = 99, "too large"
"""A partition that no topic has, and what is said of a record."""


@case(
    "partition/refused-beside-one-that-waits",
    guarantees=["prod-010", "repl-001", "repl-004"],
    needs=NEEDS,
    apis={"CreateTopics": 5},
    detects=["B326"],
)
def what_is_refused_ends_no_wait(wire, nodes, rng):
    """Of a Produce with acks=all to several partitions, each MUST be acknowledged only when its own replicas have the
    record, also when another one is refused at once: since another node leads it, since it is unknown, since the record
    is too large, or since it has no key; whichever comes first in the request.

    Five requests, one of which has all four beside the one that waits; no follower gets anything from the leader.
    """
    leader, second, third = rng.sample(wire.nodes, 3)
    wrong = {
        "led elsewhere": (placed(wire, "elsewhere", [second], **ALONE), 0),
        "unknown": (placed(wire, "known", [leader], **ALONE), UNKNOWN),
        TOO_LARGE: (placed(wire, "small", [leader], **ALONE, **{"max.message.bytes": str(LIMIT)}), 0),
        "without a key": (placed(wire, "keys", [leader], **ALONE, **{"cleanup.policy": "compact"}), 0),
    }
    beside = [[name] for name in wrong] + [list(wrong)]
    waits = [placed(wire, f"waits{number}", [leader, rng.choice((second, third))], **COPIES) for number in range(5)]
    for topic in waits:
        all_in_sync(wire, topic)
        wire.produce(topic, batch("before")).must_be_at(0)
    with apart(nodes, leader, "brokers"):
        sent = []
        for topic, names in zip(waits, beside, strict=True):
            rows = [_row(wire, topic, 0), *(_row(wire, *wrong[name], large=name == TOO_LARGE) for name in names)]
            asked = request("Produce", acks=-1, timeout_ms=LONG_MS, topic_data=rng.sample(rows, len(rows)))
            sent.append(OpenRequest(wire, leader, asked, topic))
        for topic, names, one in zip(waits, beside, sent, strict=True):
            one.await_answer(SOON_S)
            if one.answered:
                code = code_of(wire, one.response.struct, topic)
                said = f"beside one that is refused ({', '.join(names)})"
                one.response.must(code != 0, f"{topic} is acknowledged {said}, and its follower lacks the record")
    for topic, names, one in zip(waits, beside, sent, strict=True):
        one.await_answer(WITHIN_S)
        if one.answered:
            refused = list(errors_in(one.response.struct))
            one.response.must(
                len(refused) >= len(names), f"of what must be refused ({', '.join(names)}) something is not"
            )
        all_in_sync(wire, topic)
        held = wire.read_all(topic)
        if one.answered and not code_of(wire, one.response.struct, topic):
            held.must_hold("before", "both")


def _row(wire, topic, index, *, large=False):
    """A record without a key."""
    data = {"index": index, "records": batch("x" * 2 * LIMIT if large else "both")}
    return {"name": topic, "topic_id": wire.topic_id(topic), "partition_data": [data]}
