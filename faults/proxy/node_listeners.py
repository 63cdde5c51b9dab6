"""One listener for each node, known by node id; a node keeps its port for the whole run."""

import asyncio
import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass

from brokertrial.faults.channel import Setup
from brokertrial.wire.addresses import reached

BACKLOG = 1024
UNKNOWN = -1


class PortInUse(OSError):
    """A port that the proxy was told to take belongs to someone else."""


@dataclass(slots=True)
class NodeListener:
    """A listener of ours and what is behind it: a node, or a bootstrap address whose node is not known yet."""

    node: int
    upstream: tuple[str, int]
    port: int
    server: asyncio.Server | None = None


class NodeListeners:
    """Which node is where: behind us, and in front of us."""

    def __init__(
        self, setup: Setup, accept: Callable[[NodeListener], asyncio.Protocol], news: Callable[[NodeListener], None]
    ) -> None:
        self._setup = setup
        self._accept = accept
        self._news = news
        self._doors: dict[int, NodeListener] = {}
        self._bootstrap: list[NodeListener] = []
        self._opening: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Binds the listeners of all that is known at the start."""
        wanted_port = self._setup.bootstrap_port
        for node, (host, port) in sorted(self._setup.nodes.items()):
            self.place(node, host, port)
        for address in self._setup.bootstrap:
            node_listener = self._by_address(address)
            if node_listener is None or wanted_port:
                node_listener = self._open(
                    node_listener.node if node_listener else UNKNOWN, self._reach(*address), wanted_port
                )
                wanted_port = 0
            self._bootstrap.append(node_listener)

    @property
    def bootstrap(self) -> str:
        """What clients are given to begin with."""
        return ",".join(f"{self._setup.host}:{node_listener.port}" for node_listener in self._bootstrap)

    def place(self, node: int, host: str, port: int) -> tuple[str, int]:
        """Where clients shall go for a node that advertises this address; its listener is bound when this returns."""
        upstream = self._reach(host, port)
        node_listener = self._doors.get(node)
        if node_listener is None:
            node_listener = self._doors[node] = self._open(node, upstream, self._setup.ports.get(node, 0))
            self._news(node_listener)
        elif node_listener.upstream != upstream:
            node_listener.upstream = upstream
            self._news(node_listener)
        for other in self._bootstrap:
            if other.node == UNKNOWN and other.upstream == upstream:
                other.node = node
        return self._setup.host, node_listener.port

    def upstream(self, node: int) -> tuple[str, int] | None:
        """Where a node really is."""
        node_listener = self._doors.get(node)
        return node_listener.upstream if node_listener else None

    def ids(self) -> list[int]:
        """Every node that is known."""
        return sorted(self._doors)

    def map(self) -> dict[int, tuple[int, str, int]]:
        """Node id -> (our port, the node's host, its port)."""
        return {node: (node_listener.port, *node_listener.upstream) for node, node_listener in self._doors.items()}

    def bootstrap_ports(self) -> list[int]:
        """The ports of listeners that stand for a bootstrap address."""
        return [node_listener.port for node_listener in self._bootstrap]

    async def close(self) -> None:
        """Closes every listener."""
        await asyncio.gather(*self._opening, return_exceptions=True)
        for node_listener in (*self._doors.values(), *self._bootstrap):
            if node_listener.server is not None:
                node_listener.server.close()

    def _reach(self, host: str, port: int) -> tuple[str, int]:
        """Where an advertised address is from here; a whole `host:port` or a host alone may be mapped."""
        return reached(host, port, self._setup.reach)

    def _by_address(self, address: tuple[str, int]) -> NodeListener | None:
        upstream = self._reach(*address)
        return next(
            (node_listener for node_listener in self._doors.values() if node_listener.upstream == upstream), None
        )

    def _open(self, node: int, upstream: tuple[str, int], port: int) -> NodeListener:
        """Binds and listens at once, so that no client can come too early; accepting begins a moment later."""
        listener = socket.socket(socket.AF_INET6 if ":" in self._setup.host else socket.AF_INET)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self._setup.host, port))
            listener.listen(BACKLOG)
        except OSError as problem:
            listener.close()
            if problem.errno == errno.EADDRINUSE:
                raise PortInUse(
                    errno.EADDRINUSE, f"port {port} is in use; choose another, or none for a free one."
                ) from problem
            raise
        listener.setblocking(False)
        node_listener = NodeListener(node, upstream, listener.getsockname()[1])
        task = asyncio.ensure_future(self._serve(node_listener, listener))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
        return node_listener

    async def _serve(self, node_listener: NodeListener, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        node_listener.server = await loop.create_server(
            lambda: self._accept(node_listener), sock=listener, backlog=BACKLOG
        )
