"""What the coordinator of a group must still know when it was stopped or killed, and has read its log again."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.admin import GROUP, SET
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write
from brokertrial.wire import errors

NEEDS = ("kill", "terminate", "restart")
LONG_MS = 60_000
OPAQUE = {"protocol_type": "opaque", "session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS}


@case(
    "groups/static-members-over-restarts",
    guarantees=["grp-016", "grp-015", "grp-020"],
    apis={"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "DescribeGroups": 4},
    needs=NEEDS,
    detects=["S13", "P44", "P43"],
)
def static_members_outlive_their_coordinator(wire, nodes, group):
    """A generation with static and dynamic members MUST be kept after its coordinator was stopped, and after it was
    killed: each heartbeat is accepted, each member has its assignment, an instance that returns gets its own back in
    the same generation, its old id is fenced (82), and the group is described as before.
    """
    members = [
        wire.member(group, name, protocols=[("p", name.encode())], **OPAQUE, **static)
        for name, static in (("s1", {"instance_id": "i1"}), ("s2", {"instance_id": "i2"}), ("d", {}))
    ]
    rebalance(*members, assignments=[b"of s1", b"of s2", b"of d"])
    generation = members[0].generation
    for act, returns in ((nodes.stop_and_start, members[0]), (nodes.crash, members[1])):
        act(nodes.of_group(group))
        # first what is asked to wait while the log is read: Kafka answers Heartbeat blindly then, and SyncGroup with 27
        _must_be_described(wire, group, members)
        for member in members:
            member.heartbeat().must_succeed()
            member.sync().must_bring(b"of " + member.name.encode())
        old, returns.id = returns.id, ""
        returns.join().must_have("generation_id", generation)
        returns.sync().must_bring(b"of " + returns.name.encode())
        wire.heartbeat(group, generation, old, instance_id=returns.settings["instance_id"]).must_be_refused(
            errors.FENCED_INSTANCE_ID
        )
        for member in members:
            member.heartbeat().must_succeed()
        _must_be_described(wire, group, members)


def _must_be_described(wire, group, members):
    make_coordinator_write(wire, group)
    answer = wire.describe_group(group).must_succeed()
    row = answer.struct.groups[0]
    found = {each.member_id: (each.group_instance_id, bytes(each.member_assignment)) for each in row.members}
    wanted = {each.id: (each.settings.get("instance_id"), b"of " + each.name.encode()) for each in members}
    reported = (row.group_state, row.protocol_type, row.protocol_data)
    answer.must(reported == ("Stable", "opaque", "p"), f"the group is described as {reported}", "groups[0].group_state")
    answer.must(found == wanted, f"its members are {found}; they must be {wanted}", "groups[0].members")


@case(
    "groups/consumer-revocation-over-restarts",
    guarantees=["g848-011", "g848-002"],
    apis={"ConsumerGroupHeartbeat": 1},
    features={"group.version": 1},
    needs=NEEDS,
    detects=["M24b", "M24g"],
)
def what_is_not_given_back_has_its_owner_after_a_restart(wire, nodes, topic_of, group):
    """A partition that a member was asked to revoke and has not revoked MUST NOT be assigned to another after the
    coordinator was stopped, nor after it was killed; once it is revoked it MUST be assigned to the other.
    """
    if wire.versions("IncrementalAlterConfigs"):
        longer = wire.change_configs(GROUP, group, [("consumer.session.timeout.ms", SET, str(LONG_MS))])
        longer.examined = True
    topic = topic_of(partitions=4)
    one, two = (ConsumerGroupMember(wire, group, topic, timeout_ms=600_000) for _ in range(2))
    one.beat().must_succeed()
    reconcile(one, partitions=4)
    one.held = one.owned
    two.beat().must_succeed()

    def asked_to_give_up():
        one.beat().must_succeed()
        _must_not_share(wire, one, two)
        return len(one.owned) == 2

    wire.until(asked_to_give_up, within=30, what="the first member is asked to give two partitions up")
    for act in (nodes.stop_and_start, nodes.crash):
        act(nodes.of_group(group))
        for member in (two, one, two):
            answer = member.beat()
            if answer.error in (errors.UNKNOWN_MEMBER_ID, errors.FENCED_MEMBER_EPOCH):
                wire.unclear("the coordinator was away for longer than a session lasts")
            answer.must_succeed()
            _must_not_share(wire, one, two)
    one.held = frozenset()
    reconcile(one, two, partitions=4)


def _must_not_share(wire, one, two):
    shared = sorted(two.owned & (one.held | one.owned))
    wire.must(not shared, f"the second member is assigned {shared}, which the first has not given up")
