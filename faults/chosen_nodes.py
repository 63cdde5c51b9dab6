"""Which nodes a window means: an id, a role that is resolved when the window begins, or one drawn from the seed."""

from collections.abc import Collection
from threading import Event
from time import monotonic

from brokertrial.faults.proxy_process import FaultProxy
from brokertrial.faults.schedule import Window
from brokertrial.faults.seeded_random import seeded_random

UNKNOWN_SECONDS = 2.0


class ChosenNodes:
    """`known` are the nodes that can be disturbed."""

    def __init__(self, known: Collection[int], links: FaultProxy, seed: int) -> None:
        self._known = known
        self._links = links
        self._seed = seed

    def of(self, window: Window) -> tuple[int, ...]:
        """The nodes of a window; LookupError when nobody knows which those are, or one of them cannot be disturbed."""
        known = ", ".join(map(str, sorted(self._known))) or "none"
        if not window.target or window.target == "any":
            if not self._known:
                raise LookupError("the target has no node that faults can be applied to.")
            return (int(seeded_random(self._seed, window.id, "target").choice(sorted(self._known))),)
        nodes = self._resolve(window.target)
        if nodes is None:
            raise LookupError(f"{window.target} has not been observed yet.")
        if strange := [node for node in nodes if node not in self._known]:
            raise LookupError(
                f"{window.target} is node {strange[0]}, which cannot be disturbed (those that can: {known})."
            )
        return tuple(nodes)

    def _resolve(self, selector: str) -> list[int] | None:
        """What a selector names; an answer that shows it may be under way."""
        deadline = monotonic() + UNKNOWN_SECONDS
        while (nodes := self._links.resolve(selector)) is None and monotonic() < deadline:
            Event().wait(0.05)
        return nodes
