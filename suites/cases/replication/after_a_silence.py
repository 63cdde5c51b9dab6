"""Replicas of a partition to which nothing was written for long, and then one record (replica.lag.time.max.ms)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, replicated, roles, thawed
from brokertrial.suites.probe import batch

LAG, ROUNDS, LOOKS, LOOKS_EACH_S = "replica.lag.time.max.ms", 3, 6, 0.1


@case(
    "replication/in-sync-after-a-silence",
    guarantees=["repl-003", "repl-012"],
    needs=["three-nodes", "leaders", "pause", "topic-settings"],
    detects=["B307"],
)
def who_lacked_nothing_is_not_late_at_once(wire, nodes, rng):
    """A replica that had all there was, in a partition to which nothing was written for longer than
    replica.lag.time.max.ms, MUST stay in sync for that time once a record is written that it does not have yet.

    Three times: silence, a follower is frozen, one record with acks=1, and a look at the in-sync set for half a second,
    well before the time is over.
    """
    wire.needs_setting(LAG, at_most=5_000)
    lag_ms = int(wire.setting(LAG) or 0)
    topic = replicated(wire)
    for turn in range(ROUNDS):
        all_in_sync(wire, topic)
        wire.rest(lag_ms / 1_000 + 1)
        leader, followers = roles(wire, topic)
        frozen = rng.choice([node for node in followers if node != wire.controller()])
        began_ms = wire.now_ms()
        nodes.pause(frozen)
        wire.produce(topic, batch(f"{turn}"), acks=1, to=leader).must_be_at(turn)
        for _ in range(LOOKS):
            wire.rest(LOOKS_EACH_S)
            shown = wire.metadata(topic, to=leader)
            isr = sorted(shown.struct.topics[0].partitions[0].isr_nodes)
            after_ms = wire.now_ms() - began_ms
            if after_ms > lag_ms // 2:
                break
            shown.must(
                frozen in isr,
                f"{isr} are in sync; node {frozen}, frozen {after_ms} ms ago, lacked nothing and has {lag_ms} ms",
                "topics[0].partitions[0].isr_nodes",
            )
        thawed(wire, nodes, topic, [frozen])
