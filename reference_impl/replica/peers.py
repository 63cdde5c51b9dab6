"""Requests from one broker to another: one connection each, made when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from brokertrial.reference_impl import bugs
from brokertrial.wire.aio import AsyncConnection
from brokertrial.wire.codec import Malformed
from brokertrial.wire.conversation import ConnectionFailed
from brokertrial.wire.messages import Struct

_TIMEOUT_S = 3.0
_FOR_EVER_S = 3_600.0
"""How long a broker with a planted bug waits for another that keeps its connection."""


class PeerGone(Exception):
    """The other broker cannot be reached, or did not answer: nobody knows whether it heard."""


class Peers:
    """The other brokers of the cluster, and this one, by id."""

    def __init__(self, node_id: int, address_of: Callable[[int], tuple[str, int] | None]) -> None:
        self._node_id, self._address_of = node_id, address_of
        self._connections: dict[int, AsyncConnection] = {}
        self._opening = asyncio.Lock()

    async def call(self, broker: int, message: Struct, version: int) -> Struct:
        """The answer of that broker, or PeerGone."""
        connection: AsyncConnection | None = None
        try:
            connection = await self._connection(broker)
            return await connection.call(message, version, _FOR_EVER_S if bugs.on("B308") else _TIMEOUT_S)
        except (ConnectionFailed, Malformed, OSError) as error:
            if connection is not None and self._connections.get(broker) is connection:
                del self._connections[broker]
                await connection.close()
            raise PeerGone(f"broker {broker}: {error}") from None

    async def _connection(self, broker: int) -> AsyncConnection:
        async with self._opening:
            address = self._address_of(broker)
            if address is None:
                raise PeerGone(f"broker {broker} is not known")
            known = self._connections.get(broker)
            if known is not None and (known.host, known.port) == address:
                return known
            self._connections[broker] = await AsyncConnection.open(
                *address, client_id=f"broker-{self._node_id}", timeout_s=_TIMEOUT_S
            )
            return self._connections[broker]

    async def close(self) -> None:
        """Ends all connections."""
        for connection in [*self._connections.values()]:  # one may be made meanwhile
            await connection.close()
        self._connections.clear()
