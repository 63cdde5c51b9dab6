"""Subscriptions by pattern (KIP-848) that end: what a pattern brought goes with it."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire.messages import request

BEAT = "ConsumerGroupHeartbeat"
WITHIN_S = 40


@case(
    "groups/pattern-given-up",
    guarantees=["g848-016", "g848-005"],
    apis={BEAT: 1},
    features={"group.version": 1},
    detects=["K09", edit_answer("assignment", set=None, api=BEAT, skip=2)],
)
def a_member_without_its_pattern_owns_none_of_its_topics(wire, topic_of, group):
    """A member that gives up its pattern MUST be told to give up the topics that only the pattern brought, and MUST
    keep those that it names, which are the same as before.
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
        told = wire.ask(asked, to=wire.coordinator(group)).must_succeed().struct
        member["epoch"] = told.member_epoch
        if told.assignment is not None:
            member["owned"] = {row.topic_id: sorted(row.partitions) for row in told.assignment.topic_partitions}
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
