"""A raw, blocking connection to one broker: requests as messages or as bytes, nothing retried, nothing hidden.

    with Connection("127.0.0.1", 9092, client_id="me") as broker:
        broker.call(request("Metadata", topics=None))                 one question, one answer
        first = broker.send(request("Fetch", ...), 12)                pipelining: several questions,
        broker.receive(5.0)                                           then the answers as they come
        broker.send_bytes(wrong_frame); broker.receive_frame(5.0)     frames that no client would send

Not for several threads at once, except that any thread may close it.
"""

import contextlib
import socket
from collections.abc import Callable
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Self, TypeVar

from brokertrial.wire.conversation import (
    MAX_FRAME_BYTES,
    CannotConnect,
    ConnectionClosed,
    ConnectionFailed,
    Conversation,
    NoCommonVersion,
    NotKafka,
    ReceivedResponse,
    ResponseTimeout,
    UnexpectedResponse,
    WireExchange,
    api_versions_request,
)
from brokertrial.wire.messages import Struct

__all__ = [
    "CannotConnect",
    "Connection",
    "ConnectionClosed",
    "ConnectionFailed",
    "NoCommonVersion",
    "NotKafka",
    "ReceivedResponse",
    "ResponseTimeout",
    "UnexpectedResponse",
    "WireExchange",
]

READ_BYTES = 256 * 1024
Result = TypeVar("Result")


class Connection:
    """One TCP connection; every wait ends at `timeout_s` unless the call states another."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        client_id: str | None = "brokertrial",
        timeout_s: float = 10.0,
        on_exchange: Callable[[WireExchange], None] | None = None,
        max_frame_bytes: int = MAX_FRAME_BYTES,
    ) -> None:
        self.host, self.port, self.timeout_s = host, port, timeout_s
        self.conversation = Conversation(host, port, client_id, on_exchange, max_frame_bytes)
        self._inbox: dict[int, ReceivedResponse] = {}
        self._closed = False
        try:
            self._socket = socket.create_connection((host, port), timeout_s)
        except OSError as wrong:
            raise CannotConnect(host, port, "", f"cannot connect: {wrong}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, wrong: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def call(self, message: Struct, version: int | None = None, timeout_s: float | None = None) -> Struct:
        """Sends a request and waits for its answer; version None is the highest that both sides know."""
        deadline = self._deadline(timeout_s)
        correlation_id = self._send(message, self._version(message, version, deadline), deadline)
        while correlation_id not in self._inbox:
            answer = self.conversation.answer(self._frame(deadline))
            self._inbox[answer.correlation_id] = answer
        return self._inbox.pop(correlation_id).struct

    def offered(self, timeout_s: float | None = None) -> dict[int, tuple[int, int]]:
        """What the broker offers, by API key; asked once."""
        deadline = self._deadline(timeout_s)
        version: int | None = 3
        while not self.conversation.offered and version is not None:
            left = max(0.0, deadline - monotonic())
            version = self.conversation.learn(self.call(api_versions_request(), version, left))
        return self.conversation.offered

    def send(self, message: Struct, version: int | None = None) -> int:
        """Sends a request and returns its correlation id; the answer comes from `receive`."""
        deadline = self._deadline(None)
        return self._send(message, self._version(message, version, deadline), deadline)

    def receive(self, timeout_s: float | None = None) -> ReceivedResponse:
        """The next answer, whichever request it belongs to."""
        if self._inbox:
            return self._inbox.pop(next(iter(self._inbox)))
        return self.conversation.answer(self._frame(self._deadline(timeout_s)))

    def expect(self, api: str, version: int, correlation_id: int) -> None:
        """Lets `receive` decode the answer to a request that is sent as bytes."""
        self.conversation.expect(api, version, correlation_id)

    def send_bytes(self, data: bytes) -> None:
        """Sends bytes as they are."""
        self.conversation.sent_raw(data)
        self._send_all(data, self._deadline(None))

    def receive_frame(self, timeout_s: float | None = None) -> bytes:
        """The next frame without its size, not decoded."""
        return self.conversation.received_raw(self._frame(self._deadline(timeout_s)))

    def closed_by_peer(self, timeout_s: float) -> bool:
        """Whether the other side closes the connection in that time, without sending anything more."""
        try:
            self.receive_frame(timeout_s)
        except ConnectionClosed:
            return True
        except ResponseTimeout:
            return False
        return False

    def close(self) -> None:
        """Closes it; requests still open are reported without an answer. May be called twice."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            self.conversation.close()

    def _deadline(self, timeout_s: float | None) -> float:
        return monotonic() + (self.timeout_s if timeout_s is None else timeout_s)

    def _version(self, message: Struct, version: int | None, deadline: float) -> int:
        if version is not None:
            return version
        self.offered(max(0.0, deadline - monotonic()))
        return self.conversation.best_version(message._api)

    def _send(self, message: Struct, version: int, deadline: float) -> int:
        correlation_id, buffers = self.conversation.send(message, version)
        self._send_all(b"".join(buffers), deadline)
        return correlation_id

    def _send_all(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            sent = self._timed(partial(self._socket.send, view), deadline, "not sent")
            view = view[sent:]

    def _frame(self, deadline: float) -> bytes:
        while True:
            frame = self.conversation.next_frame()
            if frame is not None:
                return frame
            data = self._timed(partial(self._socket.recv, READ_BYTES), deadline, "no answer")
            if not data:
                begun = self.conversation.unfinished()
                where = f" in the middle of a frame, after {begun} bytes" if begun else ""
                raise self.conversation.problem(ConnectionClosed, f"the broker closed the connection{where}")
            self.conversation.fed(data)

    def _timed(self, action: Callable[[], Result], deadline: float, what: str) -> Result:
        """Does one socket call before the deadline, with our own errors."""
        try:
            self._socket.settimeout(max(0.001, deadline - monotonic()))
            return action()
        except TimeoutError:
            raise self.conversation.problem(ResponseTimeout, f"{what} within the time limit") from None
        except OSError as wrong:
            raise self.conversation.problem(ConnectionClosed, f"the connection is gone: {wrong}") from None
