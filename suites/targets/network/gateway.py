"""The way into the namespaces: run as a script inside them, on listening sockets that were made outside.

Bytes are copied as they come, in both directions; an end, a reset and a refused connection are passed on. It ends
when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import sys
from typing import Any

_AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER: closing sends a reset."""


class CableEnd(asyncio.Protocol):
    """One end of a connection that passes; what arrives goes out at the other."""

    def __init__(self) -> None:
        self.other: CableEnd | None = None
        self.transport: Any = None
        self._early = bytearray()
        self._ended_early = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def joined(self, other: CableEnd) -> None:
        """What came before the other end was there goes out now."""
        self.other = other
        if self._early:
            other.transport.write(bytes(self._early))
            self._early.clear()
        if self._ended_early and other.transport.can_write_eof():
            other.transport.write_eof()

    def data_received(self, data: bytes) -> None:
        if self.other is None:
            self._early += data
        else:
            self.other.transport.write(data)

    def eof_received(self) -> bool:
        if self.other is None:
            self._ended_early = True
        elif not self.other.transport.is_closing():
            self.other.transport.write_eof()
        return True  # the other direction may go on

    def connection_lost(self, error: Exception | None) -> None:
        if self.other is not None and not self.other.transport.is_closing():
            self.other.reset() if error is not None else self.other.transport.close()

    def pause_writing(self) -> None:
        if self.other is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def reset(self) -> None:
        """Ends it as a refused or broken connection ends."""
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()


class Entrance(CableEnd):
    """A connection from outside; the one to the node is made for it."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self._place = host, port
        self._joining: asyncio.Task[None] | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._joining = asyncio.get_running_loop().create_task(self._join())

    async def _join(self) -> None:
        try:
            _, inside = await asyncio.get_running_loop().create_connection(CableEnd, *self._place)
        except OSError:
            self.reset()
            return
        if self.transport.is_closing():
            inside.reset()
            return
        inside.joined(self)
        self.joined(inside)

    def connection_lost(self, error: Exception | None) -> None:
        if self.other is None and self._joining is not None:
            self._joining.cancel()
        super().connection_lost(error)


async def serve(entrances: dict[str, list[Any]]) -> None:
    """Serves each listening socket, by its number, for the node at this place; until standard input ends."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number, (host, port) in entrances.items():
        listening = socket.socket(fileno=int(number))
        await loop.create_server(lambda host=host, port=port: Entrance(host, port), sock=listening)  # type: ignore[misc]
    loop.add_reader(0, lambda: None if os.read(0, 4096) else over.set())
    await over.wait()


def main() -> None:
    """Without uvloop: it was seen to abort here ("double free") while connections by the dozen were reset."""
    asyncio.run(serve(json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
