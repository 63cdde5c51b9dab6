"""The one door between a case and the world. Everything that comes in through it is on the tape, in order.

A case runs on one thread, so the order of its requests, answers, clock readings and node actions is a single sequence.
Played back to the same function it must ask for the same things: that is what `check` does (suites/probe/replay.py).
"""

from __future__ import annotations

import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import msgspec

MAX_FRAME = 256 * 1024 * 1024


class TranscriptEntry(msgspec.Struct):
    """One thing that happened: what it was about, the bytes or text that came of it, and when."""

    kind: str  # "open" "request" "answer" "silence" "closed" "refused" "close" "clock" "action" "znode"
    connection: str = ""
    node: int = -1
    api: str = ""
    version: int = -1
    data: bytes = b""
    text: str = ""
    ns: int = 0


class ReadTimeout(Exception):
    """Nothing came within the time given."""


class ClosedByPeer(Exception):
    """The other side closed the connection."""


class ConnectRefused(Exception):
    """The connection did not come about."""


class Exchanger(Protocol):
    """What a probe may do to the world."""

    def open(self, connection: str, node: int, address: tuple[str, int], timeout_s: float) -> None: ...
    def send(self, connection: str, frame: bytes, api: str = "", version: int = -1) -> int: ...
    def together(self) -> AbstractContextManager[None]: ...
    def receive(self, connection: str, timeout_s: float, api: str = "", version: int = -1) -> tuple[bytes, int]: ...
    def close(self, connection: str) -> None: ...
    def clock(self) -> tuple[int, int]: ...  # monotonic nanoseconds, wall clock milliseconds
    def pause(self, seconds: float) -> None: ...
    def act(self, what: str, do: Callable[[], str]) -> str: ...
    def observe(self, path: str, look: Callable[[], str]) -> str: ...  # a node of ZooKeeper, as JSON


class LiveExchanger:
    """Real sockets; each event is handed to `record` once it happened.

    Every wait ends with KeyboardInterrupt once `wake` can be read: a signal itself reaches the main thread alone.
    """

    def __init__(self, record: Callable[[TranscriptEntry], None], wake: int | None = None) -> None:
        self._wake = [] if wake is None else [wake]
        self._record = record
        self._sockets: dict[str, socket.socket] = {}
        self._nodes: dict[str, int] = {}
        self._last_ns = 0
        self._held: deque[tuple[str, bytes]] | None = None
        """What is to leave together, in the order in which it was asked for."""

    def open(self, connection: str, node: int, address: tuple[str, int], timeout_s: float) -> None:
        """Opens a connection under a name; raises Refused."""
        self._nodes[connection] = node
        try:
            opened = socket.create_connection(address, timeout=timeout_s)
        except OSError as error:
            self._note("refused", connection, text=str(error))
            raise ConnectRefused(f"{address[0]}:{address[1]}: {error}") from error
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sockets[connection] = opened
        self._note("open", connection, text=f"{address[0]}:{address[1]}")

    def send(self, connection: str, frame: bytes, api: str = "", version: int = -1) -> int:
        """Sends bytes as they are; returns when. A broken pipe shows itself at the next receive."""
        ns = self._note("request", connection, api=api, version=version, data=frame)
        if self._held is None:
            self._leave(connection, frame)
        else:
            self._held.append((connection, frame))
        return ns

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is sent inside leaves at its end, one right behind the other: to make a request takes longer than many
        brokers take to answer it. A wait for an answer inside lets what was held leave before."""
        self._held = deque()
        try:
            yield
        finally:
            self._release()
            self._held = None

    def _release(self) -> None:
        while self._held:
            self._leave(*self._held.popleft())

    def _leave(self, connection: str, frame: bytes) -> None:
        try:
            self._sockets[connection].sendall(frame)
        except OSError:
            pass  # what the broker answered before it closed may still be there to read

    def receive(self, connection: str, timeout_s: float, api: str = "", version: int = -1) -> tuple[bytes, int]:
        """The next whole frame without its size, and when it was complete; raises Silence or Closed."""
        self._release()
        deadline = time.monotonic() + timeout_s
        try:
            size = int.from_bytes(self._exactly(connection, 4, deadline), "big", signed=True)
            if not 0 <= size <= MAX_FRAME:
                raise ClosedByPeer(f"a frame of {size} bytes was announced")
            frame = self._exactly(connection, size, deadline)
        except ReadTimeout:
            self._note("silence", connection, api=api, version=version, text=f"{timeout_s:.3f}")
            raise
        except (ClosedByPeer, OSError) as error:
            self._note("closed", connection, api=api, version=version, text=str(error))
            raise ClosedByPeer(str(error)) from error
        ns = self._note("answer", connection, api=api, version=version, data=frame)
        return frame, ns

    def _exactly(self, connection: str, size: int, deadline: float) -> bytes:
        reading = self._sockets[connection]
        parts = bytearray()
        while len(parts) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not self._readable([reading], left):
                raise ReadTimeout
            if not (chunk := reading.recv(min(size - len(parts), 1 << 20))):
                raise ClosedByPeer("the broker closed the connection")
            parts += chunk
        return bytes(parts)

    def _readable(self, sockets: list[socket.socket], within_s: float) -> bool:
        waited: list[socket.socket | int] = [*sockets, *self._wake]
        found, _, _ = select.select(waited, [], [], within_s)
        if any(isinstance(entry, int) for entry in found):
            raise KeyboardInterrupt
        return bool(found)

    def close(self, connection: str) -> None:
        """Closes one connection; one that is not open is left alone."""
        if (opened := self._sockets.pop(connection, None)) is not None:
            opened.close()
            self._note("close", connection)

    def clock(self) -> tuple[int, int]:
        """The clocks, read once: monotonic nanoseconds and wall milliseconds."""
        wall = time.time_ns() // 1_000_000
        return self._note("clock", text=str(wall)), wall

    def pause(self, seconds: float) -> None:
        """Lets time pass between two looks at a condition."""
        self._readable([], seconds)

    def act(self, what: str, do: Callable[[], str]) -> str:
        """Does something to a node, and keeps what came of it."""
        result = do()
        self._note("action", what, text=result)
        return result

    def observe(self, path: str, look: Callable[[], str]) -> str:
        """Looks at a node of the cluster's ZooKeeper, and keeps what was seen."""
        seen = look()
        self._note("znode", path, text=seen)
        return seen

    def close_all(self) -> None:
        """Closes every connection."""
        for connection in list(self._sockets):
            self.close(connection)

    def _note(
        self, kind: str, connection: str = "", *, api: str = "", version: int = -1, data: bytes = b"", text: str = ""
    ) -> int:
        ns = max(time.monotonic_ns(), self._last_ns + 1)  # strictly rising: times alone give the order back
        self._last_ns = ns
        self._record(TranscriptEntry(kind, connection, self._nodes.get(connection, -1), api, version, data, text, ns))
        return ns
