"""A coordinator's own log with too few replicas in sync to be written, although it has a leader."""

from contextlib import contextmanager

from brokertrial.suites.probe.admin import DELETE, SET, TOPIC

COPIES, WITHIN_S = "min.insync.replicas", 60


@contextmanager
def too_few_in_sync(wire, nodes, internal, spared):
    """While min.insync.replicas of an internal topic is 3 and a node that is not `spared` is dead."""
    dead = next(node for node in wire.nodes if node not in spared)
    asked = next(node for node in wire.nodes if node != dead)
    wire.change_configs(TOPIC, internal, [(COPIES, SET, "3")]).must_succeed()
    nodes.kill(dead)
    try:
        wire.until(
            lambda: _in_sync(wire, internal, asked) == 2, within=WITHIN_S, what=f"node {dead} is in sync nowhere"
        )
        yield
    finally:
        nodes.start(dead)
        wire.until(lambda: _in_sync(wire, internal, asked) == 3, within=WITHIN_S, what="all replicas are in sync")
        wire.change_configs(TOPIC, internal, [(COPIES, DELETE, None)]).must_succeed()


def _in_sync(wire, internal, asked):
    """The fewest in-sync replicas that a partition of the topic has."""
    (row,) = wire.metadata(internal, to=asked).struct.topics
    return min(len(part.isr_nodes) for part in row.partitions)
