"""Members of a KIP-848 group that come to ask for another server assignor: what it decides comes into force."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire.messages import request

ASSIGNORS = ("range", "uniform")
WITHIN_S, TURNS, AWAY = 15, 3, -2


@case(
    "groups/assignor-changed-by-members",
    guarantees=["g848-005", "g848-009"],
    apis={"ConsumerGroupHeartbeat": 0, "ConsumerGroupDescribe": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["B200"],
)
def what_another_assignor_decides_comes_into_force(wire, topic_of, rng):
    """When all members of a KIP-848 group come to ask for another server assignor, the group MUST come to a later epoch
    in which they own what that assignor gives them, whether they say so in a heartbeat or as static members that were
    away and come back: with `range` the first of them has one partition more of every topic, with `uniform` all have
    equally many.

    Two or three members of as many topics, whose partitions are one more than the members; three changes.
    """
    count = rng.randint(2, 3)
    topics = [topic_of(partitions=count + 1, what=f"t{number}") for number in range(count)]
    for way in ("heartbeats", "static members come back"):
        with wire.part(way):
            _changes(wire, wire.name("g"), topics, way != "heartbeats", rng)


def _changes(wire, group, topics, back, rng):
    wish = rng.choice(ASSIGNORS)
    names = [f"i-{number}" if back or rng.random() < 0.5 else None for number in range(len(topics))]
    members = [ConsumerGroupMember(wire, group, *topics, instance_id=name, assignor=wish) for name in names]
    epoch = 0
    for turn in range(TURNS + 1):
        if turn:
            wish = next(each for each in ASSIGNORS if each != wish)
        for number in rng.sample(range(len(members)), len(members)):
            if not turn:
                members[number].beat().must_succeed()
            elif back:
                members[number].leave(AWAY).must_succeed()
                members[number] = ConsumerGroupMember(wire, group, *topics, instance_id=names[number], assignor=wish)
                members[number].beat().must_succeed()
            else:
                members[number].beat(assignor=wish).must_succeed()
        wire.eventually(
            lambda of=wish, after=epoch: _must_be_in_force(wire, group, members, of, after), within=WITHIN_S
        )
        epoch = members[0].epoch


def _must_be_in_force(wire, group, members, wish, before):
    """Everybody is in the group's epoch, which is a later one, and has as many as this assignor gives."""
    for member in members:
        member.beat().must_succeed()
    asked = request("ConsumerGroupDescribe", group_ids=[group])
    answer = wire.ask(asked, to=wire.coordinator(group)).must_succeed()
    row = answer.struct.groups[0]
    what = f"all members ask for {wish}; the group has {row.assignor_name}"
    answer.must(row.assignor_name == wish, what, "groups[0].assignor_name")
    each = len(members)
    wanted = [2 * each] + [each] * (each - 1) if wish == "range" else [each + 1] * each
    found = sorted((len(member.owned) for member in members), reverse=True)
    what = f"the group has {wish}, which gives its members {wanted} partitions; they own {found}"
    answer.must(found == wanted, what, "groups[0].members")
    owned = {part for member in members for part in member.owned}
    answer.must(len(owned) == sum(wanted), f"of {sum(wanted)} partitions {len(owned)} are owned", "groups[0].members")
    epochs = [member.epoch for member in members]
    what = f"the members are in the epochs {epochs}, the group in {row.group_epoch}, and before the change in {before}"
    answer.must(set(epochs) == {row.group_epoch} and row.group_epoch > before, what, "groups[0].group_epoch")
