"""A proxy of Toxiproxy in front of each node of a target, for one trial, and what is done to the bytes in it.

    clients -> fault proxy -> Toxiproxy -> node

The node sees what it would see of a bad line; clients see a connection that is slow, or ends.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from brokertrial.faults.owners import is_orphan, owner
from brokertrial.faults.toxiproxy.client import Toxiproxy
from brokertrial.faults.toxiproxy.toxic import Toxic, ToxiproxyFailed
from brokertrial.wire.addresses import reached, written


class NodeLines:
    """Made for nodes by id and advertised address. A context manager: leaving takes the proxies away.

    `renew` starts a server that is stuck anew; without it, one that is stuck stays so.
    """

    def __init__(
        self,
        server: Toxiproxy,
        nodes: Mapping[int, tuple[str, int]],
        reach: Mapping[str, str],
        renew: Callable[[], None] | None = None,
        name: str = "",
    ) -> None:
        self.server = server
        self._advertised = dict(nodes)
        self._upstream = {node: reached(*place, reach) for node, place in nodes.items()}
        self._renew = renew
        self._name = owner() + (f"-{name}" if name else "")
        self._listen: dict[int, tuple[str, int]] = {}
        self._open: dict[str, tuple[tuple[int, ...], list[Toxic]]] = {}
        self.renewed = 0
        """How often the server had to be started anew."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """The nodes that have a line."""
        return tuple(self._upstream)

    @property
    def reach(self) -> dict[str, str]:
        """Advertised address of each node -> its line: what a fault proxy must be told."""
        return {written(*self._advertised[node]): written(*place) for node, place in self._listen.items()}

    def make(self) -> None:
        """Makes the proxies, on the ports that they had before, if they had any, with the toxics of open windows."""
        for node in self.nodes:
            self._make(node)

    def _make(self, node: int) -> None:
        listen = self._listen.get(node, (self.server.host, 0))
        self._listen[node] = self.server.create(self._proxy(node), self._upstream[node], listen)
        for window, (nodes, toxics) in self._open.items():
            if node in nodes:
                self.server.add(self._proxy(node), _named(window, toxics))

    def apply(self, window: str, nodes: Sequence[int], toxics: list[Toxic]) -> None:
        """Puts toxics on the lines of these nodes; read back."""
        self._open[window] = tuple(nodes), toxics
        for node in nodes:
            self.server.add(self._proxy(node), _named(window, toxics))

    def heal(self, window: str) -> None:
        """Takes them away again, which closes the connections of these nodes. A stuck server is started anew."""
        nodes, _ = self._open.pop(window)
        try:
            for node in nodes:
                self.server.remove(self._proxy(node))
                self._make(node)
        except ToxiproxyFailed:
            if self._renew is None:
                raise
            self._renew()
            self.renewed += 1
            self.make()

    def left(self) -> frozenset[str]:
        """The windows of which the server still has a toxic."""
        mine = {self._proxy(node) for node in self.nodes}
        found = [proxy["toxics"] for name, proxy in self.server.proxies().items() if name in mine]
        return frozenset(str(toxic["name"]).rpartition(".")[0] for toxics in found for toxic in toxics)

    def ended_bytes(self, nodes: Sequence[int]) -> int:
        """Bytes that ended connections of these nodes had carried; it rises when one ends."""
        counted = self.server.ended_bytes()
        return sum(counted.get(self._proxy(node), 0) for node in nodes)

    def close(self) -> None:
        """Takes the proxies away; what a server that is stuck keeps goes with it."""
        for node in self._listen:
            with suppress(ToxiproxyFailed):
                self.server.remove(self._proxy(node))
        self._listen.clear()

    def __enter__(self) -> Self:
        try:
            self.make()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _proxy(self, node: int) -> str:
        return f"{self._name}-node-{node}"


def remove_orphans(server: Toxiproxy) -> list[str]:
    """Removes the proxies of processes of this machine that are gone; their names."""
    orphans = [name for name in server.proxies() if is_orphan(name)]
    for name in orphans:
        server.remove(name)
    return orphans


def _named(window: str, toxics: list[Toxic]) -> dict[str, Toxic]:
    return {f"{window}.{number}": toxic for number, toxic in enumerate(toxics)}
