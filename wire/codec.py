"""Encodes and decodes messages with functions compiled at first use, one for each API, direction and version.

    encode(request("Metadata", topics=None), 12)          -> bytes, the body without header or size
    decode("Metadata", "response", 12, buffer)            -> Struct, or Malformed

Decoding raises nothing but Malformed, whatever the bytes are, and allocates at most in proportion to the bytes really
present. Encoding raises ValueError: a number out of range, a missing value, or a field that the version lacks.
"""

from collections.abc import Iterable
from functools import cache
from struct import error as StructError
from traceback import walk_tb
from typing import Any

from brokertrial.wire.decoder import decoder_source
from brokertrial.wire.encoder import encoder_source
from brokertrial.wire.primitives import BadBytes, Buffer, GeneratedDecoder, GeneratedEncoder
from brokertrial.wire.schema_text import MessageSchema, parts
from brokertrial.wire.source import Source
from brokertrial.wire.structs import Struct

JOIN_BELOW = 4096  # a buffer of this size or more travels alone in encode_buffers


class Malformed(Exception):
    """Bytes that are no such message: which message, where, and what is wrong."""

    def __init__(self, api: str, direction: str, version: int, offset: int, message: str) -> None:
        super().__init__(api, direction, version, offset, message)
        self.api, self.direction, self.version, self.offset, self.message = api, direction, version, offset, message

    def __str__(self) -> str:
        return f"malformed {self.api} {self.direction} v{self.version} at byte {self.offset}: {self.message}"


def part_of(api: str, direction: str) -> MessageSchema:
    """The schema of one direction; LookupError for a name that does not exist (a mistake of the caller)."""
    try:
        return parts(api)[direction]
    except (KeyError, OSError):
        raise LookupError(f"no schema for {api} {direction}") from None


@cache
def encoder(api: str, direction: str, version: int) -> GeneratedEncoder:
    part = part_of(api, direction)
    if version not in part.versions:
        raise ValueError(f"{api} {direction} has versions {part.versions.low} to {part.versions.high}, not {version}")
    made: GeneratedEncoder = encoder_source(part, version).compile(f"{api} {direction} v{version} encoder")
    return made


_SOURCES: dict[tuple[str, str, int], Source] = {}


@cache
def decoder(api: str, direction: str, version: int) -> GeneratedDecoder:
    part = part_of(api, direction)
    if version not in part.versions:
        raise Malformed(api, direction, version, 0, f"versions {part.versions.low} to {part.versions.high} exist")
    source = _SOURCES[api, direction, version] = decoder_source(part, version)
    made: GeneratedDecoder = source.compile(f"{api} {direction} v{version} decoder")
    return made


def encode_parts(message: Struct, version: int) -> list[Any]:
    """The message as many small buffers, in order."""
    kind = type(message)
    encode_one = kind._encoders.get(version)
    if encode_one is None:
        encode_one = kind._encoders[version] = encoder(kind._api, kind._direction, version)
    found: list[Any] = []
    try:
        encode_one(message, found.append)
    except (StructError, TypeError, AttributeError, OverflowError) as wrong:
        raise ValueError(f"cannot encode {kind._api} {kind._direction} v{version}: {wrong}") from wrong
    return found


def encode(message: Struct, version: int) -> bytes:
    return b"".join(encode_parts(message, version))


def encode_buffers(message: Struct, version: int) -> list[Buffer]:
    """Like encode, but large records stay the buffers that they are: for writelines or sendmsg."""
    return joined(encode_parts(message, version))


def joined(pieces: Iterable[Buffer]) -> list[Buffer]:
    """Neighbouring small buffers become one."""
    out: list[Buffer] = []
    small: list[Buffer] = []
    for piece in pieces:
        if len(piece) < JOIN_BELOW:
            small.append(piece)
            continue
        if small:
            out.append(b"".join(small))
            small = []
        out.append(piece)
    if small:
        out.append(b"".join(small))
    return out


def decode(api: str, direction: str, version: int, buffer: Buffer) -> Struct:
    """The one message that fills the buffer exactly; records fields are views of it."""
    message, stop = decode_prefix(api, direction, version, buffer)
    if stop != len(buffer):
        raise Malformed(api, direction, version, stop, f"{len(buffer) - stop} bytes left over")
    return message


def decode_prefix(api: str, direction: str, version: int, buffer: Buffer, pos: int = 0) -> tuple[Struct, int]:
    """The message that begins at `pos`, and the position after it."""
    decode_one = decoder(api, direction, version)
    try:
        message, stop = decode_one(buffer, memoryview(buffer), pos, len(buffer))
    except (BadBytes, IndexError, StructError, UnicodeDecodeError) as wrong:
        raise _malformed(api, direction, version, wrong) from None
    return message, stop


def _malformed(api: str, direction: str, version: int, wrong: Exception) -> Malformed:
    """Finds the position and the field in the decoder's own frame: only a failure pays for it."""
    pos, line = 0, 0
    for frame, number in walk_tb(wrong.__traceback__):
        if frame.f_code.co_name.startswith("decode_") and "pos" in frame.f_locals:
            pos, line = frame.f_locals["pos"], number
    message = str(wrong)
    if not isinstance(wrong, BadBytes):
        source = _SOURCES[api, direction, version].lines
        field = source[line - 1].partition("  # ")[2] if 0 < line <= len(source) else ""
        what = "not UTF-8" if isinstance(wrong, UnicodeDecodeError) else "the bytes end here"
        message = f"{field or 'message'}: {what}"
    return Malformed(api, direction, version, pos, message)


def encode_versioned(message: Struct, version: int) -> bytes:
    """A data message as it is stored: its version as int16, then itself (consumer protocol, coordinator records)."""
    return version.to_bytes(2, "big", signed=True) + encode(message, version)


def decode_versioned(name: str, buffer: Buffer) -> tuple[int, Struct]:
    """The version and the data message behind it. A newer one is read as the newest known, as Kafka does."""
    if len(buffer) < 2:
        raise Malformed(name, "data", -1, 0, "no version")
    version = int.from_bytes(buffer[:2], "big", signed=True)
    known = min(version, part_of(name, "data").versions.high)
    return version, decode_prefix(name, "data", known, buffer, 2)[0]


def source_text(api: str, direction: str, version: int) -> str:
    """The generated decoder and encoder, for people who want to read them."""
    part = part_of(api, direction)
    return decoder_source(part, version).text() + "\n\n" + encoder_source(part, version).text()
