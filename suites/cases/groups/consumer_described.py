"""A KIP-848 group as it is described, with three members and two topics, from its first member to its last."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors
from brokertrial.wire.messages import request

KIP_848 = {"ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0}
ON = {"group.version": 1}
ROW = "groups[0]"


@case(
    "groups/consumer-described",
    guarantees=["g848-015", "g848-005"],
    apis=KIP_848,
    features=ON,
    detects=[edit_answer("groups[].members[0].member_epoch", add=-1, api="ConsumerGroupDescribe")],
)
def a_consumer_group_is_described_as_its_members_are_answered(wire, topic_of, group):
    """ConsumerGroupDescribe MUST report for each member the epoch, the subscription and the partitions that its
    heartbeats returned, and one epoch for all of a group that has settled; Empty without members when all have left, 69
    if there is no such group.

    Three members: one reads one topic only, and one is static.
    """
    topic, other = topic_of(partitions=4), topic_of(partitions=2, what="other")
    _described(wire, group).must_be_refused(errors.GROUP_ID_NOT_FOUND)
    one = ConsumerGroupMember(wire, group, topic, other)
    two = ConsumerGroupMember(wire, group, topic, other, instance_id="i-2")
    three = ConsumerGroupMember(wire, group, topic)
    members = [one, two, three]
    for member in members:
        member.beat().must_succeed()
    reconcile(*members, partitions=6)

    answer = _described(wire, group).must_have(f"{ROW}.group_state", "Stable")
    row = answer.struct.groups[0]
    epochs = {row.group_epoch, row.assignment_epoch, *(member.epoch for member in members)}
    answer.must(len(epochs) == 1, f"group, assignment and members have the epochs {epochs}; they must have one", ROW)
    for field in ("assignment", "target_assignment"):
        found = {each.member_id: _parts(getattr(each, field)) for each in row.members}
        wanted = {member.id: member.owned for member in members}
        answer.must(found == wanted, f"the {field} is {found}; the members were sent {wanted}", f"{ROW}.members")
    standing = {each.member_id: (each.member_epoch, sorted(each.subscribed_topic_names)) for each in row.members}
    must = {member.id: (member.epoch, sorted(member.topics)) for member in members}
    answer.must(standing == must, f"epochs and subscriptions are {standing}; they must be {must}", f"{ROW}.members")
    instances = {each.member_id: each.instance_id for each in row.members}
    named = {one.id: None, two.id: "i-2", three.id: None}
    answer.must(instances == named, f"the instance ids are {instances}; they must be {named}", f"{ROW}.members")

    for member in members:
        member.leave().must_have("member_epoch", -1)
    _described(wire, group).must_have(f"{ROW}.group_state", "Empty").must_have(f"{ROW}.members", [])


@case(
    "groups/more-consumers-than-partitions",
    guarantees=["grp-004", "g848-002", "g848-005"],
    apis=KIP_848,
    features=ON,
    detects=["Q07"],
)
def who_has_nothing_stays_and_takes_over(wire, topic_of, group):
    """A member for which no partition is left MUST stay in the group with none, and MUST be assigned one when another
    leaves; the other that stays MUST keep its own.
    """
    topic = topic_of(partitions=2)
    one, two, three = (ConsumerGroupMember(wire, group, topic) for _ in range(3))
    for member in (one, two, three):
        member.beat().must_succeed()
    reconcile(one, two, three, partitions=2)
    waiting = [member for member in (one, two, three) if not member.owned]
    wire.must(len(waiting) == 1, f"{len(waiting)} of three members have no partition of two; it must be one")
    goes, stays = (member for member in (one, two, three) if member.owned)
    kept = stays.owned
    for _ in range(3):
        waiting[0].beat().must_succeed()
    goes.leave().must_have("member_epoch", -1)
    goes.leave().must_be_refused(errors.UNKNOWN_MEMBER_ID)
    reconcile(stays, waiting[0], partitions=2)
    wire.must(stays.owned == kept, f"the member that stayed owns {stays.indexes}; it must keep its own")


@case(
    "groups/each-record-to-one-member",
    guarantees=["grp-002", "g848-005"],
    apis={**KIP_848, "OffsetCommit": 9, "OffsetFetch": 9},
    features=ON,
    detects=[edit_answer("groups[].topics[].partitions[].committed_offset", set=0, api="OffsetFetch", skip=6)],
)
def each_record_comes_to_one_member(wire, topic_of, group):
    """In a group that has settled each record of its topics MUST come to exactly one of its members, when each reads
    what it owns from the group's offset on; and to exactly one again after a member left and the others went on at its
    offsets.

    Three members, two topics of three partitions; each member commits what it read, then one leaves.
    """
    topics = [topic_of(partitions=3), topic_of(partitions=3, what="other")]
    members = [ConsumerGroupMember(wire, group, *topics) for _ in range(3)]
    for member in members:
        member.beat().must_succeed()
    reconcile(*members, partitions=6)
    for turn in ("first", "second"):
        wanted = [f"{turn} {n}.{p}".encode() for n in range(2) for p in range(3)]
        for number, topic in enumerate(topics):
            for partition in range(3):
                wire.produce(topic, batch(f"{turn} {number}.{partition}"), partition).must_succeed()
        read = [value for member in members for value in _read(wire, member)]
        wire.must(sorted(read) == sorted(wanted), f"the members read {sorted(read)}; it must be {sorted(wanted)}")
        if turn == "first":
            members.pop(0).leave().must_have("member_epoch", -1)
            reconcile(*members, partitions=6)


def _read(wire, member):
    """What a member reads in its assigned partitions, from the group's offset on; it commits."""
    for topic, partition in sorted(member.owned):
        start = max(0, wire.committed(member.group, topic, partition).offset)
        log = wire.read_all(topic, partition, offset=start)
        yield from log.values
        end = wire.log_end(topic, partition)
        answer = wire.commit(member.group, topic, partition, offset=end, member_id=member.id, generation=member.epoch)
        answer.must_succeed()


def _described(wire, group):
    return wire.ask(request("ConsumerGroupDescribe", group_ids=[group]), to=wire.coordinator(group))


def _parts(assignment):
    return frozenset((row.topic_name, index) for row in assignment.topic_partitions for index in row.partitions)
