"""The connection of `wire.client` over asyncio: the same names, awaited; several tasks may call at once.

    broker = await Connection.open("127.0.0.1", 9092, client_id="me")

Whoever holds the lock reads for all: there is no task in the background that could die unseen.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from brokertrial.wire.client import READ_BYTES
from brokertrial.wire.conversation import (
    MAX_FRAME_BYTES,
    CannotConnect,
    ConnectionClosed,
    Conversation,
    ReceivedResponse,
    ResponseTimeout,
    WireExchange,
    api_versions_request,
)
from brokertrial.wire.messages import Struct

__all__ = ["AsyncConnection"]


class AsyncConnection:
    """One TCP connection; made by `open`."""

    def __init__(
        self, conversation: Conversation, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], timeout_s: float
    ) -> None:
        self.host, self.port, self.timeout_s = conversation.host, conversation.port, timeout_s
        self.conversation = conversation
        self._reader, self._writer = streams
        self._reading = asyncio.Lock()
        self._asking = asyncio.Lock()
        self._inbox: dict[int, ReceivedResponse] = {}

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        client_id: str | None = "brokertrial",
        timeout_s: float = 10.0,
        on_exchange: Callable[[WireExchange], None] | None = None,
        max_frame_bytes: int = MAX_FRAME_BYTES,
    ) -> Self:
        """Connects; ConnectFailed if nobody accepts in time."""
        try:
            async with asyncio.timeout(timeout_s):
                streams = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError) as wrong:
            raise CannotConnect(host, port, "", f"cannot connect: {str(wrong) or 'no answer in time'}") from None
        return cls(Conversation(host, port, client_id, on_exchange, max_frame_bytes), streams, timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def call(self, message: Struct, version: int | None = None, timeout_s: float | None = None) -> Struct:
        """Sends a request and waits for its answer; version None is the highest that both sides know."""
        async with self._limit(timeout_s):
            correlation_id = await self.send(message, version)
            while correlation_id not in self._inbox:
                async with self._reading:
                    if correlation_id not in self._inbox:
                        answer = self.conversation.answer(await self._frame())
                        self._inbox[answer.correlation_id] = answer
            return self._inbox.pop(correlation_id).struct

    async def offered(self) -> dict[int, tuple[int, int]]:
        """What the broker offers, by API key; asked once."""
        async with self._asking:
            version: int | None = 3
            while not self.conversation.offered and version is not None:
                version = self.conversation.learn(await self.call(api_versions_request(), version))
        return self.conversation.offered

    async def send(self, message: Struct, version: int | None = None) -> int:
        """Sends a request and returns its correlation id; the answer comes from `receive`."""
        if version is None:
            await self.offered()
            version = self.conversation.best_version(message._api)
        correlation_id, buffers = self.conversation.send(message, version)
        await self._write(b"".join(buffers))
        return correlation_id

    async def receive(self, timeout_s: float | None = None) -> ReceivedResponse:
        """The next answer, whichever request it belongs to."""
        async with self._limit(timeout_s), self._reading:
            if self._inbox:
                return self._inbox.pop(next(iter(self._inbox)))
            return self.conversation.answer(await self._frame())

    def expect(self, api: str, version: int, correlation_id: int) -> None:
        """Lets `receive` decode the answer to a request that is sent as bytes."""
        self.conversation.expect(api, version, correlation_id)

    async def send_bytes(self, data: bytes) -> None:
        """Sends bytes as they are."""
        async with self._limit(None):
            self.conversation.sent_raw(data)
            await self._write(data)

    async def receive_frame(self, timeout_s: float | None = None) -> bytes:
        """The next frame without its size, not decoded."""
        async with self._limit(timeout_s), self._reading:
            return self.conversation.received_raw(await self._frame())

    async def close(self) -> None:
        """Closes it; requests still open are reported without an answer. May be called twice."""
        self._writer.close()
        self.conversation.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            return

    def _limit(self, timeout_s: float | None) -> "_Limit":
        return _Limit(self.conversation, self.timeout_s if timeout_s is None else timeout_s)

    async def _write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except (OSError, RuntimeError) as wrong:
            raise self.conversation.problem(ConnectionClosed, f"the connection is gone: {wrong}") from None

    async def _frame(self) -> bytes:
        while True:
            frame = self.conversation.next_frame()
            if frame is not None:
                return frame
            try:
                data = await self._reader.read(READ_BYTES)
            except OSError as wrong:
                raise self.conversation.problem(ConnectionClosed, f"the connection is gone: {wrong}") from None
            if not data:
                begun = self.conversation.unfinished()
                where = f" in the middle of a frame, after {begun} bytes" if begun else ""
                raise self.conversation.problem(ConnectionClosed, f"the broker closed the connection{where}")
            self.conversation.fed(data)


class _Limit:
    """A time limit whose end is our ResponseTimeout."""

    def __init__(self, conversation: Conversation, seconds: float) -> None:
        self._conversation = conversation
        self._timeout = asyncio.timeout(seconds)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, tb: TracebackType | None
    ) -> None:
        try:
            await self._timeout.__aexit__(kind, wrong, tb)
        except TimeoutError:
            raise self._conversation.problem(ResponseTimeout, "no answer within the time limit") from None
