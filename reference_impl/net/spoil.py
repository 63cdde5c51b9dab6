"""A connection with a planted bug; a broker without one never makes it."""

from __future__ import annotations

import os
import struct
from collections.abc import Awaitable

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import CloseConnection, Context, Served
from brokertrial.reference_impl.clock import Timer
from brokertrial.reference_impl.net.server import API_VERSIONS, ClientConnection, Owner
from brokertrial.reference_impl.replica.spoil import OUT_OF_ORDER
from brokertrial.wire import frames
from brokertrial.wire.codec import Malformed
from brokertrial.wire.messages import Struct, response
from brokertrial.wire.primitives import Buffer

_FIRST = struct.Struct(">hhi")
_PRODUCE = (0).to_bytes(2, "big")
_HELD_BACK_S = 0.05
_ROOM = 800 << 20


class SpoiledConnection(ClientConnection):
    """Overrides what its bugs spoil, step by step; everything else is the healthy connection's."""

    def __init__(self, owner: Owner, number: int) -> None:
        super().__init__(owner, number)
        self._kept_answer: tuple[Buffer, ...] | None = None
        self._held_back: bytes | None = None
        self._held_timer: Timer | None = None
        self._collected: list[Buffer] | None = None

    def connection_lost(self, error: Exception | None) -> None:
        if self._held_timer is not None:
            self._held_timer.cancel()
        super().connection_lost(error)

    # Frames and requests

    def _take_frames(self) -> None:
        super()._take_frames()
        if len(self._buffer) >= 4 and bugs.on("M41b"):
            self._buffer.clear()

    def _too_large(self, size: int) -> None:
        if bugs.on("M41a"):
            return
        if bugs.on("M41c"):
            _make_room(min(max(size, 0), _ROOM))
        super()._too_large(size)

    def _undecodable(self, frame: bytes, error: Malformed) -> None:
        if bugs.on("M42a"):
            os._exit(1)
        if bugs.on("M42c"):
            _make_room(_ROOM)
        if bugs.on("M42e"):
            key, version, number = _FIRST.unpack_from(frame)
            self._send(frames.encode_response(response(self._owner.served[key].api.name), version, number))
        elif not bugs.on("M42b"):
            super()._undecodable(frame, error)

    def _unsupported(self, served: Served, frame: bytes) -> Awaitable[None] | None:
        key, version, _ = _FIRST.unpack_from(frame)
        if key != API_VERSIONS and version > served.max_version and bugs.on("M39j"):
            return self._ask(frame[:2] + served.max_version.to_bytes(2, "big") + frame[4:])
        if key != API_VERSIONS and version < served.min_version and bugs.on("H04"):
            return self._ask(frame[:2] + served.min_version.to_bytes(2, "big") + frame[4:])
        if key == API_VERSIONS and bugs.on("M39b"):
            raise CloseConnection(f"{served.api.name} v{version} is not served")
        return super()._unsupported(served, frame)

    def _decode(self, api: str, version: int, header: frames.RequestHeader) -> Struct:
        if header.client_id is None and bugs.on("M39f"):
            raise CloseConnection("a request without a client id")
        request = super()._decode(api, version, header)
        if request._unknown_tags and bugs.on("M39c"):
            raise CloseConnection("a request with an unknown tag")
        return request

    # Answers

    def _answer(self, answer: Struct | None, context: Context) -> None:
        if answer is None:
            if bugs.on("M38b"):
                self._writable = False
            return
        if context.api.name == "Fetch" and 12 <= context.version < 16 and bugs.on("M39g"):
            answer._unknown_tags = ((0, b"\x01\x00"),)
        correlation_id = context.correlation_id & 0x7FFFFFFF if bugs.on("R62") else context.correlation_id
        buffers = frames.encode_response_buffers(answer, context.version, correlation_id)
        if context.api.key == API_VERSIONS and context.version >= 3 and bugs.on("M39a"):
            whole = b"".join(buffers)[4:]
            buffers = [struct.pack(">i", len(whole) + 1), whole[:4], b"\x00", whole[4:]]
        if bugs.on("M38d"):
            return
        if self._kept_answer is None and bugs.on("M38c"):
            self._kept_answer = tuple(buffers)
            self._node.clock.call_later(_HELD_BACK_S, self._send_kept)  # behind no other: late, and not lost
            return
        self._send(*buffers)
        self._send_kept()

    def _send_kept(self) -> None:
        kept, self._kept_answer = self._kept_answer, None
        if kept is not None:
            self._send(*kept)

    def _send(self, *buffers: Buffer) -> None:
        if self._collected is None:
            super()._send(*buffers)
        else:
            self._collected += buffers

    # A Produce is kept back, and the one behind it is appended first

    def _handle(self, frame: bytes) -> None:
        if frame[:2] != _PRODUCE:
            super()._handle(frame)
            return
        held, self._held_back = self._held_back, None
        if held is not None:
            if self._held_timer is not None:
                self._held_timer.cancel()
            self._answer_swapped(held, frame)
        elif bugs.on("M05"):
            self._held_back = frame
            self._held_timer = self._node.clock.call_later(_HELD_BACK_S, self._release)
        else:
            super()._handle(frame)

    def _answer_swapped(self, first: bytes, second: bytes) -> None:
        token = OUT_OF_ORDER.set(True)
        answers = []
        for frame in (second, first):
            self._collected = []
            super()._handle(frame)
            answers.append(self._collected)
        self._collected = None
        OUT_OF_ORDER.reset(token)
        self._send(*answers[1], *answers[0])

    def _release(self) -> None:
        held, self._held_back = self._held_back, None
        if held is not None and self._transport is not None:
            super()._handle(held)
            self._pump()


def _make_room(size: int) -> int:
    """So much is held for a moment."""
    return len(b"x" * size)
