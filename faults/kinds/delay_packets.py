"""The line of a node is slow, and may change the order of its packets."""

from dataclasses import replace
from typing import Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Effect, Members, Shaping
from brokertrial.faults.schedule import Window


class DelayPackets(NetworkFault, frozen=True):
    """Each packet to and from a node takes `delay_ms` longer, give or take `jitter_ms`; some overtake the others.

    Needs netem, which not every kernel has. Leaves every guarantee in force but those on time.
    """

    kind, verb, model = "delay_packets", "delay the packets of {}", "timing"
    needs = ("network", "netem")
    delay_ms: float = 100
    jitter_ms: float = 0
    reorder_percent: float = 0

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[Effect]:
        late = Shaping(0, delay_ms=self.delay_ms, jitter_ms=self.jitter_ms, reorder_percent=self.reorder_percent)
        return [replace(late, node=node) for node in nodes]


def delay_packets(
    target: str | int,
    delay_ms: float = 100,
    *,
    jitter_ms: float = 0,
    reorder_percent: float = 0,
    **when: Unpack[ProcessFaultOptions],
) -> Window:
    """`delay_packets("follower({topic},0)", delay_ms=200, jitter_ms=50, begin=at_op(300))`."""
    fault = DelayPackets(delay_ms=delay_ms, jitter_ms=jitter_ms, reorder_percent=reorder_percent)
    return process_window(fault, target, **when)
