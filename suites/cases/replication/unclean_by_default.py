"""A leader that does not have everything, as the brokers' default allows it that was set while they run (KIP-226)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import BROKER, DELETE, SET, TOPIC
from brokertrial.wire.messages import request

ALL = ""
ALLOWED, INTERVAL = "unclean.leader.election.enable", "unclean.leader.election.interval.ms"
OF_ALL, BEFORE = (3,), (5, 4)
"""Where a value comes from: all brokers, what a broker was started with, or nowhere."""


@case(
    "replication/unclean-by-the-default-of-all-brokers",
    guarantees=["adm-010", "adm-008", "repl-005", "repl-006"],
    since="4.0 (KAFKA-12670)",
    needs=["chosen-settings", "started", "three-nodes", "leaders", "topic-settings", "kill", "terminate", "restart"],
    apis={"CreateTopics": 5, "DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    detects=["B89"],
)
def what_is_set_for_all_brokers_counts(wire, nodes, rng):
    """unclean.leader.election.enable that is set for all brokers while they run MUST be in force for topics that have
    no value of their own, as DescribeConfigs shows it: a live replica that lacks something leads where no other is
    alive, whether it was set before the partition lost its leader or after it. Once it is deleted, or set to false,
    such a partition MUST wait again.

    The controller looks for partitions without a leader once a second.
    """
    nodes.start_with({INTERVAL: "1000"})
    one, other, third = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [one, other], **{"min.insync.replicas": "1"})
    all_in_sync(wire, topic)
    values: list[str] = []
    off = rng.choice((DELETE, SET))
    turns = rng.sample(["before", "after"], 2)
    try:
        for turn in (turns[0], "off", turns[1]):
            common = _written(wire, topic, values, rng.randint(1, 3))
            if turn == "before":
                _set(wire, topic, one, SET, "true")
            ahead = _one_is_ahead(wire, nodes, topic, one, other, common, rng)
            nodes.kill(one)
            nodes.start(other)
            if turn != "before":
                wire.until(lambda at=other: _no_node_leads(wire, topic, at), within=WITHIN_S, what="no node leads")
            if turn == "after":
                _set(wire, topic, other, SET, "true")
            if turn != "off":
                wire.until(
                    lambda at=other: partition(wire, topic).leader_id == at,
                    within=WITHIN_S,
                    what=f"node {other} leads, which the default of all brokers allows",
                )
            else:
                wire.rest(2)
                wire.must(_no_node_leads(wire, topic, other), f"node {other} leads, and no setting allows it any more")
            values = ahead if turn == "off" else common
            nodes.start(one)
            wire.await_topic(topic)
            all_in_sync(wire, topic)
            wire.read_all(topic).must_hold(*values)
            _set(wire, topic, one, off, "false")
            if other == partition(wire, topic).leader_id:
                one, other = other, one
    finally:
        _changed(wire, third, DELETE, None).examined = True


def _set(wire, topic, asked, how, value):
    """For all brokers; each that is alive shows it for the topic."""
    _changed(wire, asked, how, value).must_succeed()
    for node in [each.node_id for each in wire.metadata(topic, to=asked).struct.brokers]:
        wire.eventually(lambda at=node: _must_be_shown(wire, topic, at, how, value), within=20)


def _changed(wire, asked, how, value):
    rows = [{"name": ALLOWED, "config_operation": how, "value": None if how == DELETE else value}]
    resources = [{"resource_type": BROKER, "resource_name": ALL, "configs": rows}]
    return wire.ask(request("IncrementalAlterConfigs", resources=resources), to=asked)


def _must_be_shown(wire, topic, node, how, value):
    resource = {"resource_type": TOPIC, "resource_name": topic, "configuration_keys": [ALLOWED]}
    answer = wire.ask(request("DescribeConfigs", resources=[resource]), to=node).must_succeed()
    found = [(row.value, row.config_source) for row in answer.struct.results[0].configs]
    right = [[(value, source)] for source in (OF_ALL if how == SET else BEFORE)]
    answer.must(found in right, f"node {node} shows {found}; it must show one of {right}", "results")


def _written(wire, topic, values, count, acks=-1):
    held = list(values)
    for _ in range(count):
        held.append(f"{len(held)}")
        wire.produce(topic, batch(held[-1]), acks=acks).must_be_at(len(held) - 1)
    return held


def _one_is_ahead(wire, nodes, topic, one, other, common, rng):
    """`other` is down, and `one` has more."""
    nodes.kill(other)
    wire.until(lambda: other not in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"{other} is out of sync")
    return _written(wire, topic, common, rng.randint(1, 3), acks=1)


def _no_node_leads(wire, topic, alive):
    """As the one that is alive shows it, which is among the brokers again."""
    metadata = wire.metadata(topic, to=alive).struct
    return alive in [row.node_id for row in metadata.brokers] and metadata.topics[0].partitions[0].leader_id == NO_NODE
