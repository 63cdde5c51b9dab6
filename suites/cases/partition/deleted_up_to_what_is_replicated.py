"""DeleteRecords while the followers lack records: it reaches as far as the high watermark, which -1 means (KIP-107)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, SURELY_KNOWN_S, is_in_sync
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
REPLICATED, MORE, SHORT_MS, HIGH_WATERMARK = 5, 3, 500, -1


@case(
    "partition/deleted-up-to-what-is-replicated",
    guarantees=["adm-011", "repl-004", "ret-006"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "DeleteRecords": 0},
    detects=["B327"],
)
def the_high_watermark_is_the_limit(wire, nodes, rng):
    """While a follower in sync lacks records, DeleteRecords with the offset -1 MUST delete all up to the high
    watermark, and with an offset beyond that be refused with OFFSET_OUT_OF_RANGE (1). It waits for the follower, so
    that its time may be over first (7). Nothing beyond the high watermark MUST be deleted, and the follower MUST delete
    the same.
    """
    leader, follower, _ = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, follower], **ALONE)
    all_in_sync(wire, topic)
    sent = [f"{number}" for number in range(REPLICATED + MORE)]
    for value in sent[:REPLICATED]:
        wire.produce(topic, batch(value)).must_succeed()
    with apart(nodes, leader, "brokers"):
        for value in sent[REPLICATED:]:
            wire.produce(topic, batch(value), acks=1, to=leader).must_succeed()
        beyond = _deleted(wire, topic, leader, REPLICATED + 1)
        deleted = _deleted(wire, topic, leader, HIGH_WATERMARK)
        start = wire.list_offsets(topic, at="earliest").offset
        wire.rest(SURELY_KNOWN_S)
        if not is_in_sync(wire, topic, follower, leader):
            wire.unclear("the follower was out of sync before the records were deleted", "slow-target")
        beyond.must_be_refused(errors.OFFSET_OUT_OF_RANGE)
        code = deleted.error
        deleted.must(code in (errors.NONE, errors.REQUEST_TIMED_OUT), f"up to the high watermark: {errors.name(code)}")
        deleted.must(start == REPLICATED, f"the log begins at {start}; the high watermark was {REPLICATED}")
    all_in_sync(wire, topic)
    _deleted(wire, topic, leader, REPLICATED).must_succeed()
    for node in (leader, follower):
        wire.eventually(
            lambda node=node: wire.fetch(topic, offset=REPLICATED, to=node).must_hold(*sent[REPLICATED:]),
            within=WITHIN_S,
        )
        wire.fetch(topic, offset=REPLICATED - 1, to=node).must_be_refused(errors.OFFSET_OUT_OF_RANGE)


def _deleted(wire, topic, leader, offset):
    row = {"name": topic, "partitions": [{"partition_index": 0, "offset": offset}]}
    answer = wire.ask(request("DeleteRecords", topics=[row], timeout_ms=SHORT_MS), to=leader)
    answer.examined = True
    return answer
