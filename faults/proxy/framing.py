"""Cuts a connection's bytes into Kafka frames, whatever pieces they come in."""

import struct

_SIZE = struct.Struct(">i")


class NotAKafkaFrame(Exception):
    """Bytes that are no Kafka frame. `kind` names what they look like; the message is one sentence for people."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.frames: list[bytes] = []
        """Whole frames that came before."""


class Frames:
    """Collects bytes and gives whole frames, each with its 4-byte size. Holds at most one unfinished frame."""

    __slots__ = ("_have", "_limit", "_need", "_parts", "_smallest")

    def __init__(self, limit: int, smallest: int) -> None:
        self._parts: list[bytes] = []
        self._have = 0
        self._need = 4
        self._limit = limit
        self._smallest = smallest

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that are complete with these bytes; NotAKafkaFrame when the stream cannot be Kafka's."""
        if self._parts:
            self._parts.append(data)
            self._have += len(data)
            if self._have < self._need:
                return []
            data = b"".join(self._parts)
            self._parts.clear()
        frames: list[bytes] = []
        place, end = 0, len(data)
        while end - place >= 4:
            (size,) = _SIZE.unpack_from(data, place)
            if not self._smallest <= size <= self._limit:
                problem = self._refused(data[place : place + 8], size)
                problem.frames = frames
                self._parts.append(data[place:])
                raise problem
            after = place + 4 + size
            if after > end:
                break
            frames.append(data if place == 0 and after == end else data[place:after])
            place = after
        self._keep(data, place, end)
        return frames

    def rest(self) -> bytes:
        """What is left of an unfinished frame; it is forgotten."""
        rest = b"".join(self._parts)
        self._parts.clear()
        self._have, self._need = 0, 4
        return rest

    def _keep(self, data: bytes, place: int, end: int) -> None:
        self._have = end - place
        if self._have == 0:
            return
        rest = data[place:] if place else data
        self._parts.append(rest)
        self._need = 4 + _SIZE.unpack_from(rest)[0] if self._have >= 4 else 4

    def _refused(self, start: bytes, size: int) -> NotAKafkaFrame:
        if start[:2] in (b"\x16\x03", b"\x15\x03"):
            what = "a TLS handshake" if start[0] == 0x16 else "a TLS alert"
            return NotAKafkaFrame(
                "tls", f"{what} arrived where Kafka without TLS is spoken (first bytes {start.hex(' ')})."
            )
        if start[:4] in (b"HTTP", b"GET ", b"POST", b"PUT ", b"HEAD"):
            return NotAKafkaFrame("not-kafka", f"HTTP arrived where Kafka is spoken: {start.decode('latin-1')!r}.")
        return NotAKafkaFrame(
            "not-kafka",
            f"a frame of {size} bytes is announced (first bytes {start.hex(' ')}); limit {self._limit} bytes.",
        )
