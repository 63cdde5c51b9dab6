"""Replicas of a partition to which nothing was written for long, and then one record or thousands."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, replicated, roles, thawed
from brokertrial.suites.probe import batch

LAG, LOOKS, LOOKS_EACH_S = "replica.lag.time.max.ms", 6, 0.1
WRITTEN = (1, 12_000, 1)
"""Records of each round: how many a replica lacks does not matter (KIP-16)."""


@case(
    "replication/in-sync-after-a-silence",
    guarantees=["repl-003", "repl-012"],
    needs=["three-nodes", "leaders", "pause", "topic-settings"],
    detects=["B307", "B356"],
)
def who_lacked_nothing_is_not_late_at_once(wire, nodes, rng):
    """A replica that had all there was, in a partition to which nothing was written for longer than
    replica.lag.time.max.ms, MUST stay in sync for that time once records are written that it does not have yet, however
    many they are.

    Three times: silence, a follower is frozen, one record or thousands with acks=1, and a look at the in-sync set for
    half a second, well before the time is over.
    """
    wire.needs_setting(LAG, at_most=5_000)
    lag_ms = int(wire.setting(LAG) or 0)
    topic = replicated(wire)
    end = 0
    for count in rng.sample(WRITTEN, len(WRITTEN)):
        all_in_sync(wire, topic)
        wire.rest(lag_ms / 1_000 + 1)
        leader, followers = roles(wire, topic)
        frozen = rng.choice([node for node in followers if node != wire.controller()])
        began_ms = wire.now_ms()
        nodes.pause(frozen)
        wire.produce(topic, batch(*(f"{end + number}" for number in range(count))), acks=1, to=leader).must_be_at(end)
        end += count
        for _ in range(LOOKS):
            wire.rest(LOOKS_EACH_S)
            shown = wire.metadata(topic, to=leader)
            isr = sorted(shown.struct.topics[0].partitions[0].isr_nodes)
            after_ms = wire.now_ms() - began_ms
            if after_ms > lag_ms // 2:
                break
            shown.must(
                frozen in isr,
                f"{isr} are in sync; node {frozen}, frozen {after_ms} ms ago, lacked nothing then and has {lag_ms} ms",
                "topics[0].partitions[0].isr_nodes",
            )
        thawed(wire, nodes, topic, [frozen])
