"""Subscriptions by pattern (KIP-848) beside others, and when they end: what a pattern brought goes with it."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire.messages import request

BEAT = "ConsumerGroupHeartbeat"
WITHIN_S = 40
PARTITIONS = 6
SAID_AGAIN = 4


@case(
    "groups/pattern-given-up",
    guarantees=["g848-016", "g848-005"],
    apis={BEAT: 1},
    features={"group.version": 1},
    detects=["K09", edit_answer("assignment", set=None, api=BEAT, skip=2)],
)
def a_member_without_its_pattern_owns_none_of_its_topics(wire, topic_of, group):
    """A member that gives up its pattern MUST be asked to revoke the topics that only the pattern matched, and MUST
    keep those that it names, with the same partitions as before.
    """
    by_pattern, by_name = topic_of(partitions=2), topic_of(what="named")
    first, second = wire.topic_id(by_pattern), wire.topic_id(by_name)
    member = {"id": wire.name("m"), "epoch": 0, "owned": {}}

    def owns(wanted, **fields):
        owned = [{"topic_id": uuid, "partitions": parts} for uuid, parts in sorted(member["owned"].items())]
        if fields or not member["epoch"]:
            fields = {"rebalance_timeout_ms": 60_000, **fields}
        asked = request(
            BEAT,
            group_id=group,
            member_id=member["id"],
            member_epoch=member["epoch"],
            topic_partitions=owned,
            **fields,
        )
        response = wire.ask(asked, to=wire.coordinator(group)).must_succeed().struct
        member["epoch"] = response.member_epoch
        if response.assignment is not None:
            member["owned"] = {row.topic_id: sorted(row.partitions) for row in response.assignment.topic_partitions}
        return member["owned"] == wanted

    both, named = {first: [0, 1], second: [0]}, {second: [0]}
    owns(both, subscribed_topic_regex=by_pattern, subscribed_topic_names=[by_name])
    wire.until(
        lambda: owns(both),
        within=WITHIN_S,
        what="the member owns the topic that it names and the one that its pattern matches",
    )
    if not owns(named, subscribed_topic_regex="", subscribed_topic_names=[by_name]):
        wire.until(lambda: owns(named), within=WITHIN_S, what="the member owns the topic that it names, and no other")


@case(
    "groups/pattern-beside-names",
    guarantees=["g848-016", "g848-005"],
    apis={BEAT: 1},
    features={"group.version": 1},
    detects=["W13"],
)
def who_comes_by_a_pattern_is_given_a_share(wire, topic_of, group, rng):
    """A member that joins by a pattern MUST be assigned its share of a topic that others read by its name or by another
    pattern, and one that names the topic MUST be assigned its share of what others match; the last remaining member
    MUST own all of it.

    One topic of six partitions; three members come in a drawn order, and two of them go.
    """
    topic = topic_of(partitions=PARTITIONS)
    wishes = [{}, {"topics": None, "regex": topic}, {"topics": None, "regex": f"{topic}|{topic}"}]
    members = []
    for wish in rng.sample(wishes, len(wishes)):
        members.append(ConsumerGroupMember(wire, group, topic, **wish))
        _must_share(wire, members)
    for member in rng.sample(members, 2):
        member.leave().must_succeed()
        members.remove(member)
        _must_share(wire, members)


@case(
    "groups/pattern-said-again",
    guarantees=["g848-016", "g848-005"],
    apis={BEAT: 1, "ConsumerGroupDescribe": 0},
    features={"group.version": 1},
    detects=["B50"],
)
def what_is_said_again_changes_nothing(wire, topic_of, group):
    """The epoch of a group MUST stay as it is while members say the pattern, or the names, by which they subscribe
    again: after a lost answer, or at another coordinator, a member says everything that it has said before.

    One member subscribes by a pattern that alone matches its topic, so that it is resolved once it owns it.
    """
    matched, named = topic_of(partitions=2), topic_of(what="named")
    says = [{"topics": [], "regex": matched}, {"topics": [named]}]
    members = [
        ConsumerGroupMember(wire, group, topic, **one) for topic, one in zip((matched, named), says, strict=True)
    ]

    def settled():
        for member in members:
            member.beat().must_succeed()
        return [member.indexes for member in members] == [[0, 1], [0]] and len({one.epoch for one in members}) == 1

    wire.until(settled, within=WITHIN_S, what="each member owns what it subscribes to, in one epoch")
    epoch = members[0].epoch
    for _ in range(SAID_AGAIN):
        for member, said in zip(members, says, strict=True):
            answer = member.beat(rebalance_timeout_ms=60_000, **said).must_succeed()
            what = f"its epoch goes from {epoch} to {member.epoch}, although it says what it has said before"
            answer.must(member.epoch == epoch, what, "member_epoch")
    asked = request("ConsumerGroupDescribe", group_ids=[group])
    answer = wire.ask(asked, to=wire.coordinator(group)).must_succeed()
    found = answer.struct.groups[0].group_epoch
    answer.must(found == epoch, f"the group epoch is {found}; members are in {epoch}", "groups[0].group_epoch")


def _must_share(wire, members):
    """Each owns as many partitions as the others, and all are owned."""
    each = PARTITIONS // len(members)

    def shared():
        for member in members:
            member.beat().must_succeed()
        owned = [index for member in members for index in member.indexes]
        return sorted(owned) == list(range(PARTITIONS)) and all(len(member.owned) == each for member in members)

    wire.until(shared, within=WITHIN_S, what=f"each of {len(members)} members owns {each} of {PARTITIONS} partitions")
