"""A relay of TCP connections that knows nothing of what passes, as a load balancer or a tunnel does."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

Place = tuple[str, int]


class Relay:
    """Listens on a free port of this machine, for a with-block; where it leads to may be said later."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._where: Callable[[], Place] | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def towards(self, where: Callable[[], Place]) -> None:
        """`where` is asked once for each connection."""
        self._where = where

    def __enter__(self) -> Self:
        self._thread.start()
        serving = asyncio.start_server(self._relay, sock=self._socket)
        asyncio.run_coroutine_threadsafe(serving, self._loop).result(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._socket.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            assert self._where is not None, "nobody said where to"
            there, back = await asyncio.open_connection(*self._where())
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(_pass(reader, back), _pass(there, writer))


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Passes bytes on until one side ends; then the other is ended too."""
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
