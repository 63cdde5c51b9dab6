"""The listener: accepts connections, as many as there is room for, knows them all, and ends those that nobody uses."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Dispatch, Served
from brokertrial.reference_impl.api.api_versions import unsupported_version
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.reference_impl.log.open_files import most_connections
from brokertrial.reference_impl.net.budget import Budget
from brokertrial.reference_impl.net.server import ClientConnection
from brokertrial.reference_impl.net.spoil import SpoiledConnection
from brokertrial.wire.messages import Struct

log = logging.getLogger("listener")


class Listener:
    """The connections of a broker, on one port or, where its peers have their own, on two."""

    def __init__(self, node: Broker, served: dict[int, Served], dispatch: Dispatch) -> None:
        self.node = node
        self.served = served
        self.dispatch = dispatch
        self.largest_frame: int = node.config["socket.request.max.bytes"]
        self.budget = Budget(node.config["queued.max.request.bytes"])
        self.port = 0
        self._most = most_connections()
        self._numbers = itertools.count(1)
        self._connections: set[ClientConnection] = set()
        self._servers: list[asyncio.Server] = []
        self._when_closed: dict[int, Callable[[], None]] = {}

    @property
    def open_connections(self) -> int:
        """How many there are, those included whose client is gone and whose requests are still heeded."""
        return len(self._connections)

    async def bind(self, host: str, port: int) -> int:
        """Takes a port, and tells it, but accepts nobody yet. `port` is the one that was taken first."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self.connection, host, port, backlog=512, start_serving=False)
        self._servers.append(server)
        if bugs.on("B108"):
            await server.start_serving()
        taken: int = server.sockets[0].getsockname()[1]
        self.port = self.port or taken
        return taken

    def connection(self) -> ClientConnection:
        """A connection for one more client."""
        return (SpoiledConnection if bugs.planted() else ClientConnection)(self, next(self._numbers))

    async def serve(self) -> None:
        """Accepts clients from now on."""
        for server in self._servers:
            await server.start_serving()

    def admit(self, connection: ClientConnection) -> bool:
        """Takes a connection in, unless there are too many."""
        if len(self._connections) >= min(self._most, self.node.config["max.connections"]):
            log.info("connection %d refused: max.connections, or what the system allows, is reached", connection.number)
            return False
        self._connections.add(connection)
        return True

    def when_closed(self, number: int, action: Callable[[], None]) -> None:
        """Does this once the connection of this number is gone; only what was said last counts."""
        self._when_closed[number] = action

    def lost(self, number: int) -> None:
        """A client is gone."""
        action = self._when_closed.pop(number, None)
        if action is not None:
            action()

    def forget(self, connection: ClientConnection) -> None:
        self._connections.discard(connection)
        self.budget.drop(connection)

    def close_idle(self, limit_s: float) -> None:
        """Ends connections that have not sent a whole request for this long."""
        now = self.node.clock.monotonic()
        for connection in tuple(self._connections):
            if now - connection.last_used > limit_s:
                connection.abort()

    def unsupported_version(self) -> Struct:
        """The answer to an ApiVersions request of a version that is not served."""
        return unsupported_version(self.node)

    async def close(self) -> None:
        """Stops listening, lets answers that are on their way leave, closes every connection."""
        for server in self._servers:
            server.close()
        for connection in tuple(self._connections):
            connection.close()
        await asyncio.sleep(0)
