"""A KIP-848 member that gives back what it must, in part and then all of it, in time."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile

TIMEOUT_MS = 5_000


@case(
    "groups/consumer-gives-back-in-time",
    guarantees=["g848-005", "g848-006"],
    apis={"ConsumerGroupHeartbeat": 1},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["D15", "D16"],
)
def who_gave_back_in_time_stays(wire, topic_of, group):
    """A member that must revoke partitions MUST be treated as their owner until it reports that it holds none: neither
    a heartbeat that still names one, nor one that does not report what it holds, gives one to another; and once it has
    revoked them within its rebalance timeout it MUST stay in the group when that is over.
    """
    topic = topic_of(partitions=4)
    one, two = (ConsumerGroupMember(wire, group, topic, timeout_ms=TIMEOUT_MS) for _ in range(2))
    one.beat().must_succeed()
    reconcile(one, partitions=4)
    two.beat().must_succeed()
    all_ = one.owned

    def called_to_give_back():
        one.beat(owned=all_).must_succeed()
        return len(one.owned) == 2

    wire.until(called_to_give_back, within=10, what="the first member is asked to give up two partitions")
    kept, revoked = one.owned, sorted(all_ - one.owned)
    one.held = frozenset(revoked[1:])
    for _ in range(2):
        one.beat().must_succeed()
        wire.consumer_group_heartbeat(group, one.id, one.epoch).must_succeed()
        answer = two.beat().must_succeed()
        both = sorted(two.owned & (kept | one.held))
        answer.must(
            not both, f"{both} are given to the second member, and the first has not given them back", "assignment"
        )
    one.held = frozenset()
    reconcile(one, two, partitions=4)
    began_ms = wire.now_ms()

    def past_the_timeout():
        for member in (one, two):
            member.beat().must_succeed()
        return wire.now_ms() > began_ms + TIMEOUT_MS + 2_000

    wire.until(past_the_timeout, within=3 * TIMEOUT_MS / 1000, what="the rebalance timeout is over")
    wire.must(len(one.owned) == len(two.owned) == 2, f"they own {len(one.owned)} and {len(two.owned)}", one.beat())
