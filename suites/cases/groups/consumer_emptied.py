"""The epochs of a KIP-848 group that has no members any more, and that gets some again (KAFKA-20442)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire.messages import request

LIVES, MOST = 4, 3
ROW = "groups[0]"


@case(
    "groups/consumer-epochs-when-all-are-gone",
    guarantee="g848-015",
    apis={"ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0},
    features={"group.version": 1},
    since="4.4 (KAFKA-20442)",
    level="should",
    detects=["V83"],
)
def nothing_is_left_to_assign(wire, topic_of, group, rng):
    """A KIP-848 group that its last member has left SHOULD be described as Empty with one epoch, that of the group and
    that of the assignment, since nothing is left to be assigned; a member that joins then gets a later one.

    Several lives of one group, with up to three members each, which go in a drawn order; static ones among them.
    """
    topic, last = topic_of(partitions=3), 0
    for life in range(LIVES):
        instances = [rng.choice([None, f"i{number}"]) for number in range(rng.randint(1, MOST))]
        members = [ConsumerGroupMember(wire, group, topic, instance_id=instance) for instance in instances]
        for member in members:
            answer = member.beat().must_succeed()
            answer.must(
                member.epoch > last, f"a member gets epoch {member.epoch}; the group was in {last}", "member_epoch"
            )
        for _ in range(rng.randint(0, 2)):
            for member in members:
                member.beat().must_succeed()
        for member in rng.sample(members, len(members)):
            member.leave().must_succeed()
        described = wire.ask(
            request("ConsumerGroupDescribe", group_ids=[group]), to=lambda: wire.coordinator(group)
        ).must_succeed()
        described.must_have(f"{ROW}.group_state", "Empty")
        described.must_have(f"{ROW}.assignment_epoch", described.at(f"{ROW}.group_epoch"))
        last = described.at(f"{ROW}.group_epoch")
        wire.must(last > life, f"after {life + 1} lives the group is in epoch {last}", described)
