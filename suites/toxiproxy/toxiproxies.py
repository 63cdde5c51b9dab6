"""Where a run takes its Toxiproxy from, and what its trials can do with it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from brokertrial.faults.toxiproxy.client import Toxiproxy
from brokertrial.faults.toxiproxy.node_lines import NodeLines, remove_orphans
from brokertrial.faults.toxiproxy.toxic import ToxiproxyFailed
from brokertrial.suites.toxiproxy import program
from brokertrial.suites.toxiproxy.program import ToxiproxyMissing
from brokertrial.suites.toxiproxy.server import ToxiproxyServer
from brokertrial.suites.toxiproxy.tried import counts_ended_connections
from brokertrial.wire.addresses import parsed

ALWAYS = frozenset({"bandwidth", "latency"})
COUNTED = frozenset({"toxiproxy"})
"""For faults that end connections: the server must count those, or nothing shows that they have bitten."""


class Toxiproxies:
    """Use `found`. `capabilities` are what a target gains by it; `described` says where it comes from."""

    def __init__(self, capabilities: frozenset[str], described: str, running: Toxiproxy | None) -> None:
        self.capabilities = capabilities
        self.described = described
        self._running = running

    @classmethod
    def found(cls, address: str | None) -> Toxiproxies:
        """The server at an address, or a program to start; raises ToxiproxyMissing, ToxiproxyFailed, or ValueError.

        Proxies that a run left there which was killed are removed.
        """
        if address is None:
            return cls(ALWAYS | COUNTED, f"{program.server()}", None)
        server = Toxiproxy(*parsed(address))
        described = f"version {server.version()} at {server.address}"
        remove_orphans(server)
        if counts_ended_connections(server):
            return cls(ALWAYS | COUNTED, described, server)
        return cls(ALWAYS, f"{described}, without -proxy-metrics: nothing shows when a connection was ended", server)

    @contextlib.contextmanager
    def lines(
        self, nodes: Mapping[int, tuple[str, int]], reach: Mapping[str, str], folder: Path, name: str
    ) -> Iterator[NodeLines]:
        """A line to each node, for one trial: with a server of its own, where none runs already."""
        if self._running is not None:
            with NodeLines(self._running, nodes, reach, name=name) as lines:
                yield lines
            return
        with (
            ToxiproxyServer(program.server(), folder) as server,
            NodeLines(server.client, nodes, reach, server.renew, name) as lines,
        ):
            yield lines


__all__ = ["Toxiproxies", "ToxiproxyFailed", "ToxiproxyMissing"]
