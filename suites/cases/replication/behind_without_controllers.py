"""A replica that falls behind in many partitions while no controller can take it out of the in-sync replicas."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._in_sync import await_in_sync
from brokertrial.suites.cases.replication._roles import COPIES, WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.preferred_leaders import await_leaders

LAG, PARTITIONS = "replica.lag.time.max.ms", 45


@case(
    "replication/behind-while-no-controller-is-there",
    guarantees=["repl-003", "repl-001", "kraft-006"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "pause", "kill", "restart"],
    apis={"ElectLeaders": 1},
    detects=["B363"],
)
def who_fell_behind_in_many_is_in_sync_again(wire, topic_of, nodes, rng):
    """A replica that falls behind in many partitions while no controller is there MUST be taken out of the in-sync
    replicas of each once the controllers are back, and back into them once it has caught up; acks=all MUST succeed
    then.

    45 partitions of three replicas; a drawn node is frozen while the controllers are dead, and each other leader takes
    a record with acks=1 in each of its partitions.
    """
    wire.needs_setting(LAG, at_most=5_000)
    topic = topic_of(partitions=PARTITIONS, replicas=3, configs=COPIES)
    frozen = rng.choice(list(wire.nodes))
    leaders = {place: wire.leader(topic, place) for place in range(PARTITIONS)}
    places = [place for place, leader in leaders.items() if leader != frozen]
    lag_s = int(wire.setting(LAG) or 0) / 1_000

    def falls_behind():
        nodes.pause(frozen)
        for place in places:
            wire.produce(topic, batch("behind"), place, acks=1, to=leaders[place]).must_be_at(0)
        wire.rest(lag_s + 1)

    nodes.crash_controllers(meanwhile=falls_behind)
    everyone, alive = set(wire.nodes), set(wire.nodes) - {frozen}
    await_in_sync(wire, topic, PARTITIONS, alive, alive, WITHIN_S)
    nodes.resume(frozen)
    await_in_sync(wire, topic, PARTITIONS, everyone, everyone, WITHIN_S)
    await_leaders(wire, of_all=True)
    wire.refresh_metadata(topic)
    for place in range(PARTITIONS):
        wire.produce(topic, batch("after"), place).must_be_at(int(place in places))
