"""A static KIP-848 member that is away for a while: the group goes on as if it were there (KIP-848, KIP-345)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire import errors
from brokertrial.wire.messages import request

AWAY, WITHIN_S, BEATS = -2, 40, 3


@case(
    "groups/consumer-away-for-a-while",
    guarantees=["g848-007", "g848-016", "cmt-014"],
    apis={"ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0, "OffsetDelete": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["B51"],
)
def what_it_alone_reads_stays_its_own(wire, topic_of, group):
    """While a static member of a KIP-848 group is away (-2) the epoch of its group MUST stay as it is, the offsets of a
    topic that it alone reads MUST NOT be deleted (86), and under a new id it MUST get its partitions back in the same
    epoch. It names the topic, or a pattern matches it; another member reads another topic and heartbeats meanwhile.
    """
    other, alone = topic_of(what="u"), topic_of(partitions=2)
    for how, wish in (("by name", {}), ("by a pattern", {"topics": None, "regex": alone})):
        with wire.part(how):
            _must_stay(wire, f"{group}{how[-1]}", other, alone, wish)


def _must_stay(wire, group, other, alone, wish):
    stays = ConsumerGroupMember(wire, group, other)
    member = ConsumerGroupMember(wire, group, alone, instance_id="i", **wish)
    whole = {(alone, 0), (alone, 1)}

    def settled():
        stays.beat().must_succeed()
        member.beat().must_succeed()
        return member.owned == whole and stays.owned == {(other, 0)} and stays.epoch == member.epoch

    wire.until(settled, within=WITHIN_S, what="each member owns what it reads, in one epoch")
    epoch = _epoch(wire, group, member.epoch, "two members own what they read")
    wire.commit(group, alone, offset=1, member_id=member.id, generation=epoch).must_succeed()
    member.leave(AWAY).must_succeed().must_have("member_epoch", AWAY)
    for _ in range(BEATS):
        stays.beat().must_succeed()
    _epoch(wire, group, epoch, "a member is away for a while")
    rows = [{"name": alone, "partitions": [{"partition_index": 0}]}]
    deletion = wire.ask(request("OffsetDelete", group_id=group, topics=rows), to=wire.coordinator(group))
    deletion.must_have("topics[0].partitions[0].error_code", errors.GROUP_SUBSCRIBED_TO_TOPIC)
    member.id, member.owned = wire.name("m"), frozenset()
    answer = member.beat(epoch=0).must_succeed()
    answer.must(member.owned == whole, f"it is assigned {sorted(member.owned)}; it owned {sorted(whole)}", "assignment")
    stays.beat().must_succeed()
    _epoch(wire, group, epoch, "it is back")


def _epoch(wire, group, wanted, why):
    """That of the group, as it is described."""
    asked = request("ConsumerGroupDescribe", group_ids=[group])
    answer = wire.ask(asked, to=wire.coordinator(group)).must_succeed()
    found = answer.struct.groups[0].group_epoch
    answer.must(found == wanted, f"the group epoch is {found}; {why}, and it was {wanted}", "groups[0].group_epoch")
    return found
