"""One side of a connection without any socket: what to send, what has arrived, which answer belongs to which request.

`wire.client` and `wire.aio` move the bytes. Kafka answers in the order of the requests; an answer that overtakes
another is delivered and marked, one that nobody asked for is an error.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import TypeVar

from brokertrial.wire import apis, errors
from brokertrial.wire.codec import Malformed
from brokertrial.wire.frames import decode_response, encode_request_buffers, response_correlation_id
from brokertrial.wire.messages import Struct, request, response
from brokertrial.wire.primitives import Buffer

MAX_FRAME_BYTES = 128 * 1024 * 1024
TLS_RECORDS = (b"\x15\x03", b"\x16\x03")  # an alert, a handshake
Failure = TypeVar("Failure", bound="ConnectionFailed")
OTHER_PROTOCOLS = {b"HTTP": "HTTP", b"SSH-": "SSH", b"220 ": "SMTP or FTP", b"-ERR": "Redis"}


class ConnectionFailed(Exception):
    """Something went wrong between us and one broker: with whom, and while waiting for what."""

    def __init__(self, host: str, port: int, api: str, message: str) -> None:
        super().__init__(host, port, api, message)
        self.host, self.port, self.api, self.message = host, port, api, message

    def __str__(self) -> str:
        waiting = f" (waiting for {self.api})" if self.api else ""
        return f"{self.host}:{self.port}: {self.message}{waiting}"


class CannotConnect(ConnectionFailed):
    """Nobody accepted the connection in time."""


class ConnectionClosed(ConnectionFailed):
    """The other side closed or reset the connection."""


class ResponseTimeout(ConnectionFailed):
    """The connection stands, but the answer did not come in time."""


class NotKafka(ConnectionFailed):
    """What came back is no Kafka frame: another protocol, or a size that cannot be."""


class UnexpectedResponse(ConnectionFailed):
    """An answer with a correlation id that no open request has."""


class NoCommonVersion(ConnectionFailed):
    """The broker does not offer the API, or only versions that we do not know."""


@dataclass(slots=True)
class Pending:
    """A request that has not been answered."""

    correlation_id: int
    api: str
    version: int
    frame: bytes
    sent_ns: int


@dataclass(frozen=True, slots=True)
class WireExchange:
    """One request and its answer as bytes without sizes, with times of CLOCK_MONOTONIC; `answer` None: never came.

    What is sent or received as plain bytes is an exchange of its own with version -1; sent bytes are then as given.
    """

    api: str
    version: int
    correlation_id: int
    host: str
    port: int
    request: bytes
    answer: bytes | None
    sent_ns: int
    received_ns: int | None


@dataclass(frozen=True, slots=True)
class ReceivedResponse:
    correlation_id: int
    struct: Struct
    frame: bytes
    api: str
    version: int  # that of the answer: 0, or -1 where only the error was legible, after a refused ApiVersions
    sent_ns: int
    received_ns: int
    overtook: bool  # an older request was still unanswered


@dataclass(slots=True)
class Conversation:
    """The state of one connection."""

    host: str
    port: int
    client_id: str | None
    on_exchange: Callable[[WireExchange], None] | None = None
    max_frame_bytes: int = MAX_FRAME_BYTES
    offered: dict[int, tuple[int, int]] = field(default_factory=dict)  # from ApiVersions, by key
    _arrived: bytearray = field(default_factory=bytearray)
    _pending: dict[int, Pending] = field(default_factory=dict)
    _next_id: int = 0

    def send(self, message: Struct, version: int) -> tuple[int, list[Buffer]]:
        """The correlation id and the bytes of a request. Produce with acks=0 is the one that nobody answers."""
        self._next_id = correlation_id = (self._next_id + 1) & 0x7FFFFFFF
        buffers = encode_request_buffers(message, version, correlation_id, self.client_id)
        frame = b"".join(buffers)[4:] if self.on_exchange else b""
        if message._api == "Produce" and message.acks == 0:
            self._report(Pending(correlation_id, "Produce", version, frame, monotonic_ns()), None, None)
            return correlation_id, buffers
        self.expect(message._api, version, correlation_id, frame)
        return correlation_id, buffers

    def expect(self, api: str, version: int, correlation_id: int, frame: bytes = b"") -> None:
        """Announces an answer, for requests that were sent as plain bytes."""
        self._pending[correlation_id] = Pending(correlation_id, api, version, frame, monotonic_ns())

    def sent_raw(self, data: bytes) -> None:
        """Reports bytes that were sent as they are: an exchange without API, version -1."""
        self._report(Pending(-1, "", -1, bytes(data), monotonic_ns()), None, None)

    def received_raw(self, frame: bytes) -> bytes:
        """Reports a frame that is handed out undecoded: an exchange without request."""
        now = monotonic_ns()
        self._report(Pending(-1, "", -1, b"", now), frame, now)
        return frame

    def waiting_for(self) -> str:
        return next((pending.api for pending in self._pending.values()), "")

    def fed(self, data: bytes) -> None:
        self._arrived += data

    def unfinished(self) -> int:
        """How many bytes of an incomplete frame have arrived."""
        return len(self._arrived)

    def next_frame(self) -> bytes | None:
        """A complete frame without its size, or None until more bytes come."""
        arrived = self._arrived
        if len(arrived) < 4:
            return None
        size = int.from_bytes(arrived[:4], "big", signed=True)
        if not 0 <= size <= self.max_frame_bytes:
            raise self._not_kafka(size)
        if len(arrived) < 4 + size:
            return None
        with memoryview(arrived) as view:
            frame = bytes(view[4 : 4 + size])
        del arrived[: 4 + size]
        return frame

    def _not_kafka(self, size: int) -> NotKafka:
        start = bytes(self._arrived[:4])
        if start[:2] in TLS_RECORDS:
            return self.problem(NotKafka, "the answer is TLS: this is a TLS port, and only plaintext is spoken here")
        if start in OTHER_PROTOCOLS:
            return self.problem(NotKafka, f"the answer looks like {OTHER_PROTOCOLS[start]}, not like Kafka")
        most = f"at most {self.max_frame_bytes} are accepted"
        return self.problem(NotKafka, f"the answer begins with a frame size of {size} bytes; {most}")

    def problem(self, kind: type[Failure], message: str) -> Failure:
        return kind(self.host, self.port, self.waiting_for(), message)

    def answer(self, frame: bytes) -> ReceivedResponse:
        """Matches a frame with its request and decodes it; Malformed if it is no such answer."""
        received = monotonic_ns()
        correlation_id = response_correlation_id(frame)
        pending = self._pending.get(correlation_id)
        if pending is None:
            raise self.problem(UnexpectedResponse, f"an answer with correlation id {correlation_id}, which is not open")
        overtook = next(iter(self._pending)) != correlation_id
        del self._pending[correlation_id]
        self._report(pending, frame, received)
        version, message = _understood(pending, frame)
        return ReceivedResponse(
            correlation_id, message, frame, pending.api, version, pending.sent_ns, received, overtook
        )

    def close(self) -> None:
        """Reports the requests that will never be answered."""
        for pending in list(self._pending.values()):
            self._report(pending, None, None)
        self._pending.clear()

    def _report(self, pending: Pending, answer: bytes | None, received: int | None) -> None:
        if self.on_exchange:
            head = (pending.api, pending.version, pending.correlation_id, self.host, self.port)
            self.on_exchange(WireExchange(*head, pending.frame, answer, pending.sent_ns, received))

    def learn(self, answer: Struct) -> int | None:
        """Takes in an ApiVersions answer. Returns the version to ask again with, if ours was refused."""
        offered = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        if answer.error_code == errors.UNSUPPORTED_VERSION:
            ours = apis.by_name("ApiVersions")
            return min(int(offered.get(ours.key, (0, 0))[1]), ours.max_version)
        if answer.error_code:
            raise self.problem(NoCommonVersion, f"ApiVersions was answered with {errors.name(answer.error_code)}")
        self.offered = offered
        return None

    def best_version(self, name: str) -> int:
        """The highest version that both sides know."""
        api = apis.by_name(name)
        low, high = self.offered.get(api.key, (1, 0))
        best = min(high, api.max_version)
        if best < max(low, api.min_version):
            theirs = f"{low} to {high}" if low <= high else "none"
            ours = f"{api.min_version} to {api.max_version}"
            raise self.problem(NoCommonVersion, f"{name}: the broker offers versions {theirs}, we know {ours}")
        return best


def _understood(pending: Pending, frame: bytes) -> tuple[int, Struct]:
    """The answer and the version it is in. Refused ApiVersions are answered in version 0.

    Not every broker does that right: whatever follows error 35, the client must be able to ask again. Where the rest is
    in no version that we tried, the answer is the error alone and the version is -1.
    """
    refused = pending.api == "ApiVersions" and frame[4:6] == errors.UNSUPPORTED_VERSION.to_bytes(2, "big")
    for version in (0, pending.version) if refused else ():
        try:
            return version, decode_response(pending.api, version, frame)[1]
        except Malformed:
            continue
    if refused:
        return -1, response("ApiVersions", error_code=errors.UNSUPPORTED_VERSION)
    return pending.version, decode_response(pending.api, pending.version, frame)[1]


def api_versions_request() -> Struct:
    return request("ApiVersions", client_software_name="brokertrial", client_software_version="1")


__all__ = [
    "MAX_FRAME_BYTES",
    "CannotConnect",
    "ConnectionClosed",
    "ConnectionFailed",
    "Conversation",
    "Malformed",
    "NoCommonVersion",
    "NotKafka",
    "ReceivedResponse",
    "ResponseTimeout",
    "UnexpectedResponse",
    "WireExchange",
    "api_versions_request",
]
