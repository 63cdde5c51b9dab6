"""ConsumerGroupHeartbeats that no group would take, and the classic protocol in a KIP-848 group and the reverse."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors

KIP_848 = {"ConsumerGroupHeartbeat": 1}
ON = {"group.version": 1}
CODE = "error_code"
NOT_THIS_KIND = (errors.GROUP_ID_NOT_FOUND, errors.UNKNOWN_MEMBER_ID, errors.INCONSISTENT_GROUP_PROTOCOL)


@case(
    "groups/consumer-malformed-heartbeats",
    guarantees=["g848-008", "g848-003"],
    apis=KIP_848,
    features=ON,
    detects=["P32"],
)
def what_no_group_would_take_is_refused(wire, topic, group):
    """A heartbeat that lacks what joining needs, or has an empty id, no instance to leave for a while, or an epoch
    below -2 MUST be refused as INVALID_REQUEST (42), and the members MUST go on as they were.
    """
    member = ConsumerGroupMember(wire, group, topic)
    member.beat().must_succeed()
    reconcile(member, partitions=1)
    epoch, fresh = member.epoch, wire.name("fresh")
    joins = {"topics": [topic], "owned": {}, "rebalance_timeout_ms": 30_000}
    for name, member_id, sent, changes in (
        ("no rebalance timeout", fresh, 0, {**joins, "rebalance_timeout_ms": -1}),
        ("no topics and no pattern", fresh, 0, {**joins, "topics": None}),
        ("partitions of its own", fresh, 0, {**joins, "owned": {topic: [0]}}),
        ("no partitions said", fresh, 0, {**joins, "owned": None}),
        ("no member id", "", 0, joins),
        ("an empty instance id", fresh, 0, {**joins, "instance_id": ""}),
        ("no instance to leave for a while", member.id, -2, {}),
        ("an epoch below all", member.id, -3, {}),
    ):
        with wire.part(name):
            sent = wire.consumer_group_heartbeat(group, member_id, sent, **changes)
            sent.must_be_refused(errors.INVALID_REQUEST)
    with wire.part("no group"):
        asked = wire.consumer_group_heartbeat("", fresh, 0, **joins, retry=False)
        asked.must_be_refused(errors.INVALID_REQUEST, errors.INVALID_GROUP_ID)
    member.beat().must_have("member_epoch", epoch)
    wire.must(member.indexes == [0], f"the member owns {member.indexes}; it must own its partition")


@case(
    "groups/one-protocol-at-a-time",
    guarantees=["g848-014", "grp-008"],
    apis={**KIP_848, "JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3},
    features=ON,
    detects=["S03"],
)
def members_of_the_other_protocol_are_refused_while_there_are_some(wire, topic, group):
    """While a group has members of one protocol, one of the other that cannot be converted MUST be refused, and the
    group MUST go on as it was: a classic member of another protocol type beside KIP-848 members (23), a KIP-848 member
    beside classic ones whose type is not `consumer`. Their ids are unknown to the other protocol (25).
    """
    member = ConsumerGroupMember(wire, group, topic)
    member.beat().must_succeed()
    reconcile(member, partitions=1)
    epoch = member.epoch
    joined = wire.member(group, "classic", protocol_type="opaque").join()
    joined.must_be_refused(errors.INCONSISTENT_GROUP_PROTOCOL)
    wire.heartbeat(group, epoch, member.id).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    wire.sync_group(group, epoch, member.id).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    member.beat().must_have("member_epoch", epoch)

    classic = wire.name("classic")
    old = wire.member(classic, "old", protocol_type="opaque")
    rebalance(old, assignments=[b"mine"])
    new = ConsumerGroupMember(wire, classic, topic)
    new.beat().must_be_refused(*NOT_THIS_KIND)
    new.beat(epoch=1).must_be_refused(*NOT_THIS_KIND)
    old.heartbeat().must_succeed()
    old.sync().must_bring(b"mine")
