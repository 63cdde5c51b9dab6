"""Consumers of a rack whose replica has deleted what they ask for already (KIP-392)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.cases.replication.sent_to_their_rack import BY_RACK, FOLLOWED_SINCE, RACK, SELECTOR, RackReader
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire import errors

KEEPS, SEGMENTS, LEFT = "log.retention.ms", 6, 3


@case(
    "replication/readers-stay-where-their-records-are-left",
    guarantees=["fetch-012", "fetch-015"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "chosen-settings", "terminate", "restart"],
    apis={"Fetch": FOLLOWED_SINCE},
    detects=["B311"],
)
def who_asks_for_what_is_deleted_there_is_served(wire, nodes, rng):
    """Where a follower has deleted records that the leader still has, the leader MUST return these itself to a consumer
    of the rack of that follower, and MUST direct it there for what the follower has left.

    The follower keeps records for three hours by its own setting, the others for a week; six segments, an hour apart.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    leader, near, other = rng.sample(list(wire.nodes), 3)
    for node in wire.nodes:
        keeps = {KEEPS: str(LEFT * HOUR_MS)} if node == near else {}
        nodes.start_with({RACK: f"rack {node}", SELECTOR: BY_RACK, **keeps}, only=[node])
    topic = placed(wire, "read", [leader, near, other], **{"min.insync.replicas": "1", "segment.ms": "60000"})
    all_in_sync(wire, topic)
    begin = wire.now_ms() - SEGMENTS * HOUR_MS + HOUR_MS // 2
    for number in range(SEGMENTS):
        wire.produce(topic, batch(f"{number}", timestamp=begin + number * HOUR_MS)).must_be_at(number)
    first = SEGMENTS - LEFT
    wire.until(
        lambda: _is_gone(wire, topic, near, first - 1),
        within=WITHIN_S,
        what=f"node {near} has deleted {first} segments",
    )
    reader = RackReader(wire, topic, leader, rng)
    wire.eventually(same_draws(rng, reader.must_be_served, f"rack {near}"), within=WITHIN_S)
    for _ in range(3):
        reader.must_be_served(f"rack {near}")
    for offset in (first, SEGMENTS):
        wire.eventually(same_draws(rng, reader.must_be_sent, near, offset), within=WITHIN_S)
    wire.fetch(topic, offset=first, to=near).must_reach(first)
    reader.must_be_sent(other, 0)


def _is_gone(wire, topic, node, offset):
    answer = wire.fetch(topic, offset=offset, to=node)
    answer.examined = True
    return answer.error == errors.OFFSET_OUT_OF_RANGE
