"""Connections in memory between nodes of one process, each of which has an event loop, or a node and a case."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.suites.in_process_loop import NodeLoop


BYTES_PER_S, LITTLE = 1e8, 100_000
"""Between nodes; so little takes no time."""


class End(asyncio.Transport):
    """One end of a connection: of a node, or (without a loop) of the case, which reads `data` itself."""

    def __init__(self, loop: NodeLoop | None, protocol: Any = None) -> None:
        super().__init__()
        self.loop, self.protocol = loop, protocol
        self.other: End | None = None
        self.data = bytearray()
        self.closed = self.lost = self._held = False
        self._busy_until_s = 0.0

    def joined(self, other: End) -> None:
        self.other, other.other = other, self

    def write(self, data: Any) -> None:
        if not self.closed:
            sent = bytes(data)
            self.pass_on(lambda: self.other.take(sent), len(sent))

    def pass_on(self, act: Callable[[], None], size: int = 0) -> None:
        """To the other end, as far as nothing keeps it from there."""
        if self.loop is None or self.other.loop is None:
            act()
        else:
            travels = partial(self._travel, act, size)
            self.loop.cluster.cuts.pass_on(self.loop.member.node_id, self.other.loop.member.node_id, travels)

    def _travel(self, act: Callable[[], None], size: int) -> None:
        """Much takes its time, and what comes behind it waits: a long log is not copied in a moment."""
        now_s = self.loop.time()
        takes_s = size / BYTES_PER_S if size > LITTLE else 0.0
        if self._busy_until_s < now_s and not takes_s:
            act()
            return
        self._busy_until_s = max(now_s, self._busy_until_s) + takes_s
        self.other.loop.call_at(self._busy_until_s, act)

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def take(self, data: bytes) -> None:
        """Something comes from the other end."""
        self.data += data
        self._soon(self._deliver)

    def _soon(self, act: Callable[[], None]) -> None:
        if self.loop is not None and not self.loop.dead:
            self.loop.call_soon(act)

    def _deliver(self) -> None:
        if self.data and not (self._held or self.closed or self.lost):
            data, self.data = bytes(self.data), bytearray()
            self.protocol.data_received(data)

    def pause_reading(self) -> None:
        self._held = True

    def resume_reading(self) -> None:
        self._held = False
        self._soon(self._deliver)

    def other_is_gone(self) -> None:
        if self.loop is None:
            self.lost = True
        else:
            self._soon(self._lose)

    def _lose(self) -> None:
        if not self.lost:
            self.lost = self.closed = True
            self.protocol.connection_lost(None)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.pass_on(self.other.other_is_gone)
            self._soon(self._lose)

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default


class MemoryServer:
    """What a node listens with: its port is a name, and no socket is bound to it."""

    def __init__(self, port: int) -> None:
        self.port, self.serving = port, False
        self.sockets = (self,)

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    async def start_serving(self) -> None:
        self.serving = True

    def close(self) -> None:
        self.serving = False
