"""A topic of hundreds of partitions, two of whose brokers die one after the other."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._in_sync import await_in_sync
from brokertrial.suites.cases.replication._roles import COPIES
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.preferred_leaders import await_leaders

PARTITIONS, LOOKED_AT, WITHIN_S = 240, 12, 120


@case(
    "replication/hundreds-of-partitions",
    guarantees=["repl-001", "repl-002", "repl-003", "kraft-005"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"ElectLeaders": 1},
    detects=["B361", "B362"],
)
def each_of_hundreds_goes_on(wire, topic_of, nodes, rng):
    """When a broker dies, each of its partitions MUST get another leader that is in sync, and MUST leave it out of the
    in-sync replicas, however many they are; once it is back it MUST be in sync in each again, so that nothing is lost
    when another one dies.

    240 partitions of three replicas; twelve drawn ones are written to before, between and afterwards.
    """
    topic = topic_of(partitions=PARTITIONS, replicas=3, configs=COPIES)
    everyone, places = set(wire.nodes), rng.sample(range(PARTITIONS), LOOKED_AT)
    await_in_sync(wire, topic, PARTITIONS, everyone, everyone, WITHIN_S)
    _write(wire, topic, places, "before")
    for dead in rng.sample(sorted(everyone), 2):
        nodes.kill(dead)
        await_in_sync(wire, topic, PARTITIONS, everyone - {dead}, everyone - {dead}, WITHIN_S)
        _write(wire, topic, places, f"without {dead}")
        nodes.start(dead)
        await_in_sync(wire, topic, PARTITIONS, everyone, everyone, WITHIN_S)
        await_leaders(wire, of_all=True)
        wire.refresh_metadata(topic)
    _write(wire, topic, places, "after")
    for place in places:
        log = wire.read_all(topic, place)
        log.must(len(log.values) == 4, f"partition {place} holds {log.values}; four records were acknowledged")


def _write(wire, topic, places, what):
    wire.refresh_metadata(topic)
    for place in places:
        wire.produce(topic, batch(what), place).must_succeed()
