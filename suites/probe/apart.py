"""A node that is cut off from others for a while, in a wire case: `with apart(nodes, node): ...`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from brokertrial.faults.apart import LivesInNetwork, UnmetCut
from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.packets import Service
from brokertrial.suites.probe.failures import Unclear
from brokertrial.suites.probe.nodes import DONE, Nodes


@contextmanager
def apart(nodes: Nodes, node: int, service: Service = "any", others: Sequence[int] = ()) -> Iterator[None]:
    """In the block nothing passes between this node and all others (or these), controllers included; clients reach it
    still.

    With the service `brokers` only what brokers say to each other does not pass: it replicates nothing, nothing is
    replicated from it, and it sends and gets no markers; for its controllers it is alive. A cut that no packet met had
    no effect, and proves nothing.
    """
    what = " ".join(["cut", *([] if service == "any" else [service]), "off", *map(str, others)])
    outcome = nodes.outcome_of(what, node, lambda control: _in_network(control).cut_off(service, others))
    if outcome != DONE:
        raise Unclear("suite", f"node {node} could not be cut off: {outcome}")
    try:
        yield
    finally:
        outcome = nodes.outcome_of("rejoin", node, lambda control: _in_network(control).rejoin())
    if outcome.startswith(UnmetCut.__name__):
        raise Unclear("no-hit", f"node {node} was cut off, and no packet met the cut")
    if outcome != DONE:
        raise Unclear("unhealed", f"node {node} did not join the others again: {outcome}")


def _in_network(node_control: NodeControl) -> LivesInNetwork:
    if not isinstance(node_control, LivesInNetwork):
        raise TypeError("it cannot be cut off from the others")
    return node_control
