"""The epoch of a KIP-848 group and that of its assignment, once nothing changes any more: they meet (KIP-848)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import set_session
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire.messages import request

SESSION_MS, WITHIN_S, AWAY, MOST = 2_000, 12, -2, 3
ENDS = ("leave", "away, then for good", "silent", "some and some")


@case(
    "groups/assignment-epoch-reaches-group-epoch",
    guarantee="g848-015",
    apis={"ConsumerGroupHeartbeat": 0, "ConsumerGroupDescribe": 0, "IncrementalAlterConfigs": 1, "DescribeConfigs": 1},
    features={"group.version": 1},
    needs=["partitions"],
    level="should",
    detects=["V83"],
)
def the_assignment_comes_to_be_of_the_groups_epoch(wire, topic_of, rng):
    """Once nothing changes any more in a KIP-848 group, the epoch of its assignment SHOULD come to match that of the
    group, and the group SHOULD be described as Stable, or as Empty where its last members left or were expelled: an
    assignment of an older epoch is one that is yet to be made, and looks like a rebalance that does not end.

    Up to three members, some of them static, with two topics of which they read some; they leave, are away and then
    leave for good, are silent until they are expelled, or do different things.
    """
    topics = [topic_of(partitions=3), topic_of(partitions=2, what="u")]
    for end in ENDS:
        with wire.part(end):
            _lives(wire, wire.name("g"), topics, end, rng)


def _lives(wire, group, topics, end, rng):
    set_session(wire, group, SESSION_MS)
    names = [f"i-{number}" if rng.random() < 0.6 else None for number in range(rng.randint(1, MOST))]
    members = [ConsumerGroupMember(wire, group, *topics, instance_id=name) for name in names]
    for member in members:
        member.beat().must_succeed()
    wire.eventually(lambda: _must_meet(wire, group, members), within=WITHIN_S)
    rng.choice(members).beat(topics=[rng.choice(topics)]).must_succeed()
    wire.eventually(lambda: _must_meet(wire, group, members), within=WITHIN_S)
    for number in rng.sample(range(len(members)), len(members)):
        how = rng.choice(ENDS[:3]) if end == "some and some" else end
        if how == "silent":
            continue
        if how != "leave" and names[number]:
            members[number].leave(AWAY).must_succeed()
        members[number].leave().must_succeed()
    wire.eventually(lambda: _must_meet(wire, group, []), within=WITHIN_S)


def _must_meet(wire, group, members):
    for member in members:
        member.beat().must_succeed()
    asked = request("ConsumerGroupDescribe", group_ids=[group])
    answer = wire.ask(asked, to=wire.coordinator(group)).must_succeed()
    row = answer.struct.groups[0]
    wanted = "Stable" if members else "Empty"
    what = f"the group is {row.group_state} with {len(row.members)} members; it must be {wanted} with {len(members)}"
    found = (row.group_state, len(row.members))
    answer.must(found == (wanted, len(members)), what, "groups[0].group_state")
    what = f"{wanted}, the group is in epoch {row.group_epoch} and its assignment of {row.assignment_epoch}"
    answer.must(row.group_epoch == row.assignment_epoch, what, "groups[0].assignment_epoch")
