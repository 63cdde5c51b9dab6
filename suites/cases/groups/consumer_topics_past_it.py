"""What happens to the topics of a KIP-848 group between a heartbeat and the end of its coordinator."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES
from brokertrial.suites.cases.replication._handing_over import hand_over
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC

WITHIN_S = 60
WAYS = ("killed", "stopped", "hands over")


@case(
    "groups/consumer-follows-topics-past-its-coordinator",
    guarantees=["g848-013", "g848-011", "g848-005", "cmt-002"],
    apis={"ConsumerGroupHeartbeat": 0, "CreatePartitions": 0, "OffsetCommit": 9, **MOVES},
    features={"group.version": 1},
    needs=["started", "three-nodes", "leaders", "partitions", "kill", "terminate", "restart"],
    detects=["B90"],
)
def what_changes_before_the_coordinator_goes_is_assigned(wire, topic_of, group, nodes, rng):
    """Partitions that are added, a topic that is made again, and one that is made at last, MUST be assigned to the
    members of a KIP-848 group that reads them, also where the group's coordinator is killed, stopped, or hands the
    group over before any member is heard of again. Their offsets MUST be known then as any.

    Three turns, with one or two members and one or more changes each; a member subscribes to all by their names.
    """
    grown, remade, later = topic_of(partitions=2, what="grown"), topic_of(partitions=2, what="again"), wire.name("late")
    counts = {grown: 2, remade: 2, later: 0}
    lengthen_sessions(wire, group)
    versions = [rng.choice(wire.versions("ConsumerGroupHeartbeat")) for _ in range(rng.randint(1, 2))]
    members = [ConsumerGroupMember(wire, group, *counts, version=version) for version in versions]
    for member in members:
        member.beat().must_succeed()
    reconcile(*members, partitions=4)
    for way, turn in zip(rng.sample(WAYS, 3), range(3), strict=True):
        former = wire.coordinator(group)
        changes = {_grows, rng.choice((_is_made_again, _grows))} if turn else {rng.choice((_grows, _is_made_again))}
        for change in (_grows, _is_made_again):
            if change in changes:
                change(wire, counts, grown, remade, members, rng)
        if not counts[later]:
            counts[later] = _is_made_at_last(wire, later, rng)
        if way == "hands over":
            hand_over(wire, OFFSETS_TOPIC, former, rng.choice([node for node in wire.nodes if node != former]))
        else:
            (nodes.kill if way == "killed" else nodes.terminate)(former)
        wire.forget_coordinator(group)
        wire.until(lambda was=former: _is_elsewhere(wire, group, was), within=WITHIN_S, what="another node coordinates")
        wire.eventually(lambda: _must_own_all(members, counts), within=WITHIN_S)
        _must_keep_offsets(wire, group, members, turn)
        if way != "hands over":
            nodes.start(former)
            for topic in counts:
                wire.await_topic(topic)


def _grows(wire, counts, grown, _, members, rng):
    counts[grown] += rng.randint(1, 3)
    wire.create_partitions(grown, counts[grown]).must_succeed()
    wire.await_topic(grown)
    wire.eventually(lambda: _has(wire, grown, counts[grown]), within=20)


def _is_made_again(wire, counts, _, remade, members, rng):
    wire.delete_topic(remade).must_succeed()
    counts[remade] = rng.randint(1, 3)
    wire.create_topic(remade, partitions=counts[remade]).must_succeed()
    wire.await_topic(remade)
    for member in members:  # a client whose metadata has the new topic gives up the old one
        member.owned = frozenset(place for place in member.owned if place[0] != remade)


def _is_made_at_last(wire, later, rng):
    count = rng.randint(1, 2)
    wire.create_topic(later, partitions=count).must_succeed()
    wire.await_topic(later)
    return count


def _has(wire, topic, count):
    for node in wire.nodes:
        answer = wire.metadata(topic, to=node)
        shown = len(answer.struct.topics[0].partitions)
        answer.must(shown == count, f"node {node} shows {shown} partitions; it must show {count}", "topics")


def _is_elsewhere(wire, group, former):
    wire.forget_coordinator(group)
    return wire.coordinator(group) != former


def _must_own_all(members, counts):
    answer = [member.beat().must_succeed() for member in members][-1]
    owned = sorted(place for member in members for place in member.owned)
    wanted = sorted((topic, index) for topic, count in counts.items() for index in range(count))
    answer.must(owned == wanted, f"its members own {owned}; they must own {wanted}", "assignment")


def _must_keep_offsets(wire, group, members, turn):
    for member in members:
        offsets = {place: 10 * turn + place[1] for place in sorted(member.owned)}
        wire.commit_all(group, offsets, member_id=member.id, generation=member.epoch).must_succeed()
        for (topic, index), offset in offsets.items():
            wire.committed(group, topic, index).must_be(offset)
