"""What a coordinator does by the clock for the groups that it keeps, when others of its groups move."""

from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead, shown
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, coordinator_partition, names_in
from brokertrial.wire.messages import request

SOON_MS, LONG_MS, LATE_S = 12_000, 300_000, 60
"""Short enough to wait for, and longer than two partitions take to move."""


@case(
    "groups/watched-while-others-are-handed-over",
    guarantees=["grp-011", "grp-013", "grp-016"],
    apis={"JoinGroup": 2, "DescribeGroups": 0, **MOVES},
    needs=["started", "three-nodes", "leaders", "partitions"],
    detects=["B92"],
)
def those_that_stay_are_watched(wire, topic, group, rng):
    """When a coordinator hands a partition of its log to another node, or is given one, it MUST go on to watch the
    members of all other groups that it coordinates: one that is silent MUST be removed when its session is over, in
    classic groups and those of KIP-848, and a rebalance that waits for one that does not join again MUST end after the
    rebalance timeout.

    The clocks of all three run when one partition of the log goes and another one comes.
    """
    (row,) = wire.metadata(OFFSETS_TOPIC, to=(node := wire.coordinator(group))).struct.topics
    count = len(row.partitions)
    others = [index for index in range(count) if index != coordinator_partition(group, count)]
    if len(others) < 2 or any(len(part.replica_nodes) < len(wire.nodes) for part in row.partitions):
        wire.not_applicable(f"{OFFSETS_TOPIC} does not have three partitions on each node")
    goes, comes = rng.sample(others, 2)
    elsewhere = [each for each in wire.nodes if each != node]
    _is_led_by(wire, node, goes, node)
    _is_led_by(wire, node, comes, rng.choice(elsewhere))

    silent, waits, consumes = islice(names_in(wire, coordinator_partition(group, count), count), 3)
    consumer = _consumer(wire, consumes, topic)
    slow = wire.member(waits, "does not join again", session_timeout_ms=LONG_MS, rebalance_timeout_ms=SOON_MS)
    rebalance(slow)
    rebalance(wire.member(silent, "silent", session_timeout_ms=SOON_MS, rebalance_timeout_ms=SOON_MS))
    joins = wire.member(waits, "joins", session_timeout_ms=LONG_MS, rebalance_timeout_ms=SOON_MS)
    joins.begin_join()
    for index, to in rng.sample([(goes, rng.choice(elsewhere)), (comes, node)], 2):
        _is_led_by(wire, node, index, to)

    with wire.part("a member of a classic group is silent"):
        wire.eventually(lambda: _must_be(wire, silent, "Empty", 0), within=LATE_S)
    with wire.part("a member does not join again"):
        wire.eventually(lambda: _must_be(wire, waits, "CompletingRebalance", 1), within=LATE_S)
        joins.finish_join().must_succeed()
    if consumer is not None:
        with wire.part("a member of a KIP-848 group is silent"):
            wire.eventually(lambda: _must_have_none(wire, consumes), within=LATE_S)


def _consumer(wire, group, topic):
    """A member that owns the topic, where the cluster has such groups."""
    if wire.features.get("group.version", 0) < 1 or not wire.versions("ConsumerGroupDescribe"):
        return None
    member = ConsumerGroupMember(wire, group, topic)
    member.beat().must_succeed()
    reconcile(member, partitions=1)
    return member


def _is_led_by(wire, asked, index, node):
    replicas = shown(wire, OFFSETS_TOPIC, asked, index).replica_nodes
    comes_to_lead(wire, OFFSETS_TOPIC, [node, *(each for each in replicas if each != node)], asked, index)


def _must_be(wire, group, state, members):
    answer = wire.describe_group(group).must_succeed()
    row = answer.struct.groups[0]
    found = (row.group_state, len(row.members))
    answer.must(
        found == (state, members),
        f"its state and number of members are {found}; the time of a member is over: they must be {(state, members)}",
        "groups",
    )


def _must_have_none(wire, group):
    asked = request("ConsumerGroupDescribe", group_ids=[group])
    answer = wire.ask(asked, to=lambda: wire.coordinator(group)).must_succeed()
    found = len(answer.struct.groups[0].members)
    answer.must(found == 0, f"it has {found} members; the session of its only one is over", "groups")
