"""One connection: frames in, answers out, one request at a time.

A frame that is negative or too large, an API or version that is not served, bytes that do not decode: each closes its
own connection and touches nothing else. The one exception is ApiVersions in an unknown version, which is answered in
version 0 with error 35. What is kept for clients is bounded (`budget`), and nobody has the loop for long.
"""

from __future__ import annotations

import asyncio
import logging
import struct
import sys
from collections import deque
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import CloseConnection, Context, Dispatch, Served
from brokertrial.wire import frames
from brokertrial.wire.codec import Malformed, decode_prefix
from brokertrial.wire.messages import Struct
from brokertrial.wire.primitives import Buffer

if TYPE_CHECKING:
    from brokertrial.reference_impl.api.broker import Broker
    from brokertrial.reference_impl.clock import Timer
    from brokertrial.reference_impl.net.budget import Budget

log = logging.getLogger("listener")

API_VERSIONS, PRODUCE = 18, 0
_FETCH = (1).to_bytes(2, "big")
_FIRST = struct.Struct(">hhi")
_QUEUED_FRAMES, _QUEUED_BYTES = 32, 2 << 20
_FRAMES_A_TURN, _BYTES_A_TURN = 16, 1 << 20
_AFTERLIFE_S = 30.0
_FORGETS_TO_PAUSE = (3, 12) <= sys.version_info < (3, 12, 9) or (3, 13) <= sys.version_info < (3, 13, 2)
"""Whether asyncio's `writelines` buffers without end for a client that does not read (CVE-2024-12254)."""


class Owner(Protocol):
    """The listener, as its connections see it."""

    node: Broker
    served: dict[int, Served]
    dispatch: Dispatch
    largest_frame: int
    budget: Budget

    def admit(self, connection: ClientConnection) -> bool: ...
    def lost(self, number: int) -> None: ...
    def forget(self, connection: ClientConnection) -> None: ...
    def unsupported_version(self) -> Struct: ...


class ClientConnection(asyncio.Protocol):
    """One client's connection."""

    def __init__(self, owner: Owner, number: int) -> None:
        self._owner, self._node, self.number = owner, owner.node, number
        self._dispatch = owner.dispatch
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._frames: deque[bytes] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._writable = True
        self._unread = 0  # bytes of answers, while the client is behind
        self._said = 0  # bytes of answers, in this turn
        self._weighs = 0
        self._reading = True
        self._turn_planned = False
        self._host = ""
        self._afterlife: Timer | None = None
        self.last_used = float("inf") if bugs.on("B61") else self._node.clock.monotonic()

    # asyncio calls these

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername")
        self._host = peer[0] if peer else ""
        if not self._owner.admit(self):
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        """What the client sent before it hung up is still heeded, above all a LeaveGroup behind a waiting JoinGroup.

        Not a Fetch: it changes nothing, and reading for nobody took seconds from all others.
        """
        self._transport = None
        self._frames = deque(frame for frame in self._frames if frame[:2] != _FETCH)
        self._unread = 0
        self._owner.lost(self.number)
        self._buffer.clear()
        self._pump()
        if self._frames:
            self._afterlife = self._node.clock.call_later(_AFTERLIFE_S, self._let_go)

    def pause_writing(self) -> None:
        self._writable = False
        self._unread = self._transport.get_write_buffer_size() if self._transport is not None else 0
        self._weigh()

    def resume_writing(self) -> None:
        self._writable = True
        self._unread = 0
        if not bugs.on("B52"):
            self._pump()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._take_frames()
        self._pump()

    # Frames

    def _take_frames(self) -> None:
        at, buffer = 0, self._buffer
        while len(buffer) - at >= 4:
            size = int.from_bytes(buffer[at : at + 4], "big", signed=True)
            if size < 0 or size > self._owner.largest_frame:
                log.info("connection %d: a frame of %d bytes; closed", self.number, size)
                self._too_large(size)
                break
            if len(buffer) - at - 4 < size:
                break
            with memoryview(buffer) as view:
                self._frames.append(bytes(view[at + 4 : at + 4 + size]))
            at += 4 + size
        if at:
            self.last_used = self._node.clock.monotonic()
            del buffer[:at]

    def _pump(self) -> None:
        """Answers what is queued until something has to wait; nobody reads the answers once the client is gone."""
        left, self._said = _FRAMES_A_TURN, 0
        while self._frames and self._waiting is None and (self._writable or self._transport is None):
            if not left or self._said >= _BYTES_A_TURN:
                self._go_on_later()
                break
            left -= 1
            self._handle(self._frames.popleft())
        if self._transport is None and not self._frames:
            self._let_go()
        self._throttle()

    def _go_on_later(self) -> None:
        """Others come first: a client that asks much at once is answered in turns."""
        if not self._turn_planned:
            self._turn_planned = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._turn_planned = False
        self._pump()

    def _weigh(self) -> None:
        queued = sum(map(len, self._frames)) if self._frames else 0
        self._weighs = len(self._buffer) + queued + self._unread
        self._owner.budget.note(self, self._weighs)

    def _throttle(self) -> None:
        """Stops reading from a client that sends faster than it is answered."""
        if self._weighs or self._buffer or self._frames or self._unread:
            self._weigh()
        if self._transport is None:
            return
        crowded = bool(self._frames) and (
            len(self._frames) >= _QUEUED_FRAMES or sum(map(len, self._frames)) >= _QUEUED_BYTES
        )
        if len(self._buffer) >= _QUEUED_BYTES and (self._waiting is not None or not self._reading) and bugs.on("B358"):
            crowded = True
        if crowded and self._reading:
            self._transport.pause_reading()
        elif not crowded and not self._reading:
            self._transport.resume_reading()
        self._reading = not crowded

    # One request

    def _handle(self, frame: bytes) -> None:
        try:
            result = self._ask(frame)
        except Malformed as error:
            self._undecodable(frame, error)
        except CloseConnection as error:
            log.info("connection %d closed: %s", self.number, error)
            self.close()
        except Exception:
            log.exception("connection %d closed: the handler failed", self.number)
            self.close()
        else:
            if result is not None:
                self._waiting = asyncio.ensure_future(self._later(result))

    def _too_large(self, size: int) -> None:
        """A frame announces so many bytes."""
        self.close()

    def _undecodable(self, frame: bytes, error: Malformed) -> None:
        log.info("connection %d closed: %s", self.number, error)
        self.close()

    async def _later(self, result: Awaitable[None]) -> None:
        try:
            await result
        except asyncio.CancelledError:
            return
        except CloseConnection as error:
            log.info("connection %d closed: %s", self.number, error)
            self.close()
        except Exception:
            log.exception("connection %d closed: the handler failed", self.number)
            self.close()
        self._waiting = None
        self._pump()

    def _ask(self, frame: bytes) -> Awaitable[None] | None:
        if len(frame) < _FIRST.size:
            raise CloseConnection(f"a request of {len(frame)} bytes")
        key, version, correlation_id = _FIRST.unpack_from(frame)
        served = self._owner.served.get(key)
        if served is None:
            raise CloseConnection(f"API key {key} is not served")
        header = frames.request_header(frame)
        if not served.min_version <= version <= served.max_version:
            return self._unsupported(served, frame)
        request = self._decode(served.api.name, version, header)
        context = Context(self._node, served.api, version, correlation_id, header.client_id, self.number, self._host)
        answer = self._dispatch(served, request, context)
        if isinstance(answer, Struct) or answer is None:
            self._answer(answer, context)
            return None
        return self._answer_later(answer, context)

    def _unsupported(self, served: Served, frame: bytes) -> Awaitable[None] | None:
        key, version, correlation_id = _FIRST.unpack_from(frame)
        if key != API_VERSIONS:
            raise CloseConnection(f"{served.api.name} v{version} is not served")
        self._send(frames.encode_response(self._owner.unsupported_version(), 0, correlation_id))
        return None

    def _decode(self, api: str, version: int, header: frames.RequestHeader) -> Struct:
        return decode_prefix(api, "request", version, header.body)[0]  # Kafka reads no further either

    async def _answer_later(self, answer: Awaitable[Struct | None], context: Context) -> None:
        self._answer(await answer, context)

    def _answer(self, answer: Struct | None, context: Context) -> None:
        if answer is not None:
            self._send(*frames.encode_response_buffers(answer, context.version, context.correlation_id))

    def _send(self, *buffers: Buffer) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._said += sum(map(len, buffers))
        if _FORGETS_TO_PAUSE:
            self._transport.write(b"".join(buffers))
        else:
            self._transport.writelines(buffers)

    def close(self) -> None:
        self._frames.clear()
        if self._transport is not None:
            self._transport.close()
        else:
            self._let_go()

    def abort(self) -> None:
        """Ends at once: what the client has not read is dropped, and so is what it asked for."""
        self._frames.clear()
        if self._transport is not None:
            log.info("connection %d aborted: %d bytes are kept for it", self.number, self._weighs)
            self._transport.abort()
        else:
            self._let_go()

    def _let_go(self) -> None:
        """The end: nothing is left to be done for this client."""
        self._frames.clear()
        self._owner.forget(self)
        if self._afterlife is not None:
            self._afterlife.cancel()
        if self._waiting is not None:
            self._waiting.cancel()
