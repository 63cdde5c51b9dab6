"""What a KIP-848 member gets while something else that is to be its own is still owned by another member."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember

WITHIN_S, PARTITIONS = 40, 4


@case(
    "groups/consumer-gets-what-is-free",
    guarantees=["g848-005", "g848-002"],
    apis={"ConsumerGroupHeartbeat": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["B79"],
)
def free_partitions_do_not_wait_for_others(wire, topic_of, group, rng):
    """A member MUST be assigned those of its partitions that no other member owns while others of them are still owned,
    and these MUST be assigned to it once they are given back, and not before.

    One member owns a topic; the next reads that and another one, both with the range assignor. It comes and heartbeats
    alone for a while; then the first gives back what it is asked for.
    """
    shared, free = topic_of(what="shared", partitions=PARTITIONS), topic_of(what="free", partitions=rng.randint(1, 3))
    first = ConsumerGroupMember(wire, group, shared, assignor="range")
    wire.until(lambda: _beats(first) == _all(wire, shared), within=WITHIN_S, what="the first member owns its topic")
    second = ConsumerGroupMember(wire, group, shared, free, assignor="range")
    wire.eventually(lambda: _must_own(second, _all(wire, free), first.owned), within=WITHIN_S)

    def shared_evenly():
        owned = [_beats(member) for member in (first, second)]
        half = [sum(topic == shared for topic, _ in parts) for parts in owned]
        return half == [PARTITIONS // 2] * 2 and not owned[0] & owned[1] and _all(wire, free) <= owned[1]

    wire.until(shared_evenly, within=WITHIN_S, what="each owns half of what both read")


def _all(wire, topic):
    return frozenset((topic, index) for index in wire.known_partitions(topic))


def _beats(member):
    member.beat().must_succeed()
    return member.owned


def _must_own(member, wanted, of_another):
    answer = member.beat().must_succeed()
    twice = sorted(member.owned & of_another)
    answer.must(not twice, f"it is assigned {twice}, which another member has not given back", "assignment")
    what = f"it owns {sorted(member.owned)}; of its partitions {sorted(wanted)} are owned by no other member"
    answer.must(member.owned == wanted, what, "assignment")
