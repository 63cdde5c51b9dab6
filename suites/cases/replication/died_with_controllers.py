"""What happens to the cluster while no controller is there: the next one sees it."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import BROKER, DELETE, SET

ALL = ""
ALONE = {"min.insync.replicas": "1"}
NAME = "message.max.bytes"
OF_TOPICS = "max.message.bytes"
VALUE = "70017"


@case(
    "replication/died-with-the-controllers",
    guarantees=["kraft-005", "kraft-006", "repl-005", "repl-007", "repl-001"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "settings", "kill", "restart"],
    apis={"CreateTopics": 5, "IncrementalAlterConfigs": 0, "Metadata": 7},
    detects=["D99", "Z55"],
)
def what_died_meanwhile_is_seen(wire, nodes, rng):
    """A node that dies while no controller is there MUST be found dead by the next one: each partition that it led is
    led by a replica that was in sync, in a higher epoch, with what was acknowledged, and no node names it any more.

    Settings of all brokers were altered before: a controller that begins anew MUST know them, and a topic that is
    created then has them, in the answer of CreateTopics as in that of DescribeConfigs.
    """
    dead, down, alive = rng.sample(list(wire.nodes), 3)
    led = [placed(wire, "led", [dead, alive], **ALONE), placed(wire, "wide", [dead, down, alive], **ALONE)]
    kept = placed(wire, "kept", [alive, down, dead], **ALONE)
    topics = [*led, kept]
    wire.change_configs(BROKER, ALL, [(NAME, SET, VALUE)]).must_succeed()
    try:
        for topic in topics:
            wire.produce(topic, batch("a", "b"), acks=-1).must_be_at(0)
        before = {topic: partition(wire, topic).leader_epoch for topic in topics}
        nodes.crash_controllers(meanwhile=lambda: [nodes.kill(node) for node in (dead, down)])
        nodes.start(down)
        for node in (alive, down):
            wire.eventually(lambda at=node: must_be_found(wire, at, dead, led, before), within=WITHIN_S)
        wire.refresh_metadata(kept)  # the dead one is asked nothing
        must_have_defaults(wire)
        for topic in topics:
            wire.refresh_metadata(topic)
            wire.produce(topic, batch("c")).must_be_at(2)
            wire.read_all(topic).must_hold("a", "b", "c")
    finally:
        nodes.start(dead)
        wire.change_configs(BROKER, ALL, [(NAME, DELETE, None)], to=alive)
    for topic in topics:
        wire.until(lambda name=topic: whole(wire, name), within=WITHIN_S, what=f"every replica of {topic} is in sync")


def must_be_found(wire, asked, dead, led, before):
    """What this node shows: the dead one is no broker, leads nothing and is in sync nowhere."""
    answer = wire.metadata(*before, to=asked)
    brokers = sorted(one.node_id for one in answer.struct.brokers)
    answer.must(dead not in brokers, f"node {asked} names the brokers {brokers}; {dead} is dead")
    for row in answer.struct.topics:
        part = row.partitions[0]
        right = part.leader_id != dead and part.leader_id in brokers and dead not in part.isr_nodes
        found = f"{row.name} is led by {part.leader_id} of {part.isr_nodes}"
        answer.must(right, f"node {asked} shows that {found}; {dead} is dead and {brokers} are alive")
        was = before[row.name]
        risen = part.leader_epoch > was if row.name in led else part.leader_epoch >= was
        answer.must(risen, f"node {asked} shows {row.name} in epoch {part.leader_epoch}; its leader of {was} died")


def must_have_defaults(wire):
    """A topic that is created now has what all brokers were given."""
    topic = wire.name("afterwards")
    created = wire.create_topic(topic, replicas=2).must_succeed()
    shown = {row.name: row.value for row in created.struct.topics[0].configs or ()}
    found = shown.get(OF_TOPICS, VALUE)  # a broker need not answer with settings
    created.must(found == VALUE, f"{OF_TOPICS} of a new topic is answered as {found}; brokers have {VALUE}")
    wire.await_topic(topic)
    settings = wire.configs_of_topic(topic)
    wire.must(settings[OF_TOPICS] == VALUE, f"{topic} is described with {OF_TOPICS}={settings[OF_TOPICS]}, not {VALUE}")


def whole(wire, topic):
    """Whether every replica is in sync."""
    part = partition(wire, topic)
    return set(part.isr_nodes) == set(part.replica_nodes)
