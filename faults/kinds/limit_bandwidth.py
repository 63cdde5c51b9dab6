"""The line of a node is narrow."""

from typing import Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Effect, Members, Shaping
from brokertrial.faults.schedule import Window


class LimitBandwidth(NetworkFault, frozen=True):
    """All that a node sends and gets, of nodes and of clients, passes at so many kilobits a second at the most.

    What does not fit waits, and is lost when it has waited for long. Leaves every guarantee in force but those on time.
    """

    kind, verb, model = "limit_bandwidth", "narrow the line of {}", "timing"
    needs = ("network", "bandwidth")
    kbit_per_s: int = 1_000

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[Effect]:
        return [Shaping(node, kbit_per_s=self.kbit_per_s) for node in nodes]


def limit_bandwidth(target: str | int, kbit_per_s: int = 1_000, **when: Unpack[ProcessFaultOptions]) -> Window:
    """`limit_bandwidth("follower({topic},0)", kbit_per_s=500, begin=at_op(300))`."""
    return process_window(LimitBandwidth(kbit_per_s=kbit_per_s), target, **when)
