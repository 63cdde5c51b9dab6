"""Members that may take 2147483647 ms for a rebalance, as those of Kafka Streams before 2.3 (KIP-442)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors

LONGEST_MS, LOOKS, EACH_S, WITHIN_S, PARTITIONS = 0x7FFFFFFF, 5, 0.5, 20, 4
OPAQUE = {"protocol_type": "opaque", "session_timeout_ms": 60_000, "protocols": [("p", b"p")]}


@case(
    "groups/longest-rebalance-timeouts",
    guarantees=["grp-010", "grp-006", "grp-007"],
    apis={"JoinGroup": 1, "SyncGroup": 0, "Heartbeat": 0},
    detects=["B321"],
)
def who_may_take_the_longest_is_waited_for(wire, rng):
    """A rebalance MUST wait for a member that may take up to 2147483647 ms, or nearly so, while the member goes on with
    heartbeats, and MUST end as soon as it joins again: both members are then in one generation.
    """
    for timeout_ms in (LONGEST_MS, LONGEST_MS - 1, rng.randint(1 << 30, LONGEST_MS - 2)):
        group = wire.name("g")
        slow = wire.member(group, "slow", rebalance_timeout_ms=timeout_ms, **OPAQUE)
        slow.join().must_succeed()
        slow.sync({slow.id: b"all"}).must_succeed()
        other = wire.member(group, "other", rebalance_timeout_ms=timeout_ms, **OPAQUE)
        other.begin_join()
        wire.until(lambda member=slow: _is_called_back(member), within=WITHIN_S, what="the first member is called back")
        for _ in range(LOOKS):
            wire.rest(EACH_S)
            slow.heartbeat().must_be_refused(errors.REBALANCE_IN_PROGRESS)
        slow.begin_join()
        joined = [member.finish_join().must_succeed() for member in (slow, other)]
        found = [member.generation for member in (slow, other)]
        joined[0].must(
            found[0] == found[1], f"the members are in generations {found[0]} and {found[1]}", "generation_id"
        )
        wire.at_once(joined[0])


def _is_called_back(member):
    answer = member.heartbeat()
    if answer.error == errors.NONE:
        return False
    answer.must_be_refused(errors.REBALANCE_IN_PROGRESS)
    return True


@case(
    "groups/consumer-longest-rebalance-timeouts",
    guarantees=["g848-007", "g848-003"],
    apis={"ConsumerGroupHeartbeat": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["B322"],
)
def a_consumer_may_take_the_longest_to_give_up(wire, topic_of, rng):
    """A member of a KIP-848 group that may take up to 2147483647 ms, or nearly so, to give up partitions MUST stay a
    member while it holds them, which MUST be assigned to nobody else meanwhile.
    """
    topic = topic_of(partitions=PARTITIONS)
    for timeout_ms in (LONGEST_MS, LONGEST_MS - 1, rng.randint(1 << 30, LONGEST_MS - 2)):
        group = wire.name("g")
        slow = ConsumerGroupMember(wire, group, topic, timeout_ms=timeout_ms)
        reconcile(slow, partitions=PARTITIONS)
        slow.held = slow.owned
        other = ConsumerGroupMember(wire, group, topic, timeout_ms=timeout_ms)
        for _ in range(LOOKS):
            slow.beat().must_succeed()
            answer = other.beat().must_succeed()
            both = sorted(f"{name}-{index}" for name, index in other.owned & slow.held)
            answer.must(not both, f"{', '.join(both)} are assigned to a second member while the first holds them")
            wire.rest(EACH_S)
        slow.held = frozenset()
        reconcile(slow, other, partitions=PARTITIONS)
