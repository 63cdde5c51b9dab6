"""Frames: a message with its header and, where it leaves, its four-byte size.

    encode_request(message, version, correlation_id, client_id) -> bytes with the size
    decode_request(frame_without_size)                          -> (RequestHeader, message)
    encode_response(message, version, correlation_id)           -> bytes with the size
    decode_response("Fetch", version, frame_without_size)       -> (correlation_id, message)

The client id is in the old, two-byte form even in flexible headers. Deliberately wrong frames: `wire.unchecked`.
"""

from dataclasses import dataclass, field
from struct import Struct as Format

from brokertrial.wire import apis
from brokertrial.wire.codec import Malformed, decode_prefix, encode_parts, joined
from brokertrial.wire.primitives import Buffer, tag_section
from brokertrial.wire.structs import Struct, UnknownTags
from brokertrial.wire.unchecked import unchecked_request, unchecked_response

__all__ = [
    "RequestHeader",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_request_buffers",
    "encode_response",
    "encode_response_buffers",
    "request_header",
    "response_correlation_id",
    "unchecked_request",
    "unchecked_response",
]

_REQUEST_HEAD = Format(">hhih")
_INT32 = Format(">i")
NO_TAGS = b"\0"


@dataclass(slots=True)
class RequestHeader:
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body: memoryview
    unknown_tags: UnknownTags = ()
    header_version: int = 1
    body_offset: int = field(default=0, compare=False)

    @property
    def api(self) -> apis.Api | None:
        """The API meant, or None where the key is unknown."""
        return apis.by_key(self.api_key)


def request_header_bytes(
    key: int, version: int, correlation_id: int, client_id: str | None, header_version: int, tags: UnknownTags = ()
) -> bytes:
    name = b"" if client_id is None else client_id.encode()
    head = _REQUEST_HEAD.pack(key, version, correlation_id, -1 if client_id is None else len(name)) + name
    if header_version < 2:
        return head
    return head + (tag_section([], tags) if tags else NO_TAGS)


def encode_request_buffers(
    message: Struct, version: int, correlation_id: int, client_id: str | None = None, tags: UnknownTags = ()
) -> list[Buffer]:
    """The request as buffers for writelines or sendmsg: large records are not copied."""
    api = apis.by_name(message._api)
    parts = encode_parts(message, version)
    head = request_header_bytes(api.key, version, correlation_id, client_id, api.request_header_version(version), tags)
    size = len(head) + sum(map(len, parts))
    return joined([_INT32.pack(size) + head, *parts])


def encode_request(
    message: Struct, version: int, correlation_id: int, client_id: str | None = None, tags: UnknownTags = ()
) -> bytes:
    return b"".join(encode_request_buffers(message, version, correlation_id, client_id, tags))


def request_header(frame: Buffer) -> RequestHeader:
    """Reads the header of a request; the API may be unknown and the version may be one that nobody has.

    An unknown key is read with the old header, as nothing tells which one it uses.
    """
    if len(frame) < 8:
        raise Malformed("RequestHeader", "data", 1, len(frame), "the bytes end inside the header")
    key, version = int.from_bytes(frame[0:2], "big", signed=True), int.from_bytes(frame[2:4], "big", signed=True)
    api = apis.by_key(key)
    header_version = 1 if api is None else api.request_header_version(version)
    head, pos = decode_prefix("RequestHeader", "data", header_version, frame)
    return RequestHeader(
        api_key=key,
        api_version=version,
        correlation_id=head.correlation_id,
        client_id=head.client_id,
        body=memoryview(frame)[pos:],
        unknown_tags=head._unknown_tags,
        header_version=header_version,
        body_offset=pos,
    )


def decode_request(frame: Buffer) -> tuple[RequestHeader, Struct]:
    """Header and message of a whole request; an unknown API or version is Malformed too."""
    header = request_header(frame)
    api = header.api
    if api is None:
        raise Malformed(f"API {header.api_key}", "request", header.api_version, 0, "no API has this key")
    message, stop = decode_prefix(api.name, "request", header.api_version, frame, header.body_offset)
    _nothing_left(api.name, "request", header.api_version, frame, stop)
    return header, message


def encode_response_buffers(message: Struct, version: int, correlation_id: int, tags: UnknownTags = ()) -> list[Buffer]:
    """The response as buffers for writelines or sendmsg: large records are not copied."""
    parts = encode_parts(message, version)
    head = _INT32.pack(correlation_id)
    if apis.by_name(message._api).response_header_version(version):
        head += tag_section([], tags) if tags else NO_TAGS
    size = len(head) + sum(map(len, parts))
    return joined([_INT32.pack(size) + head, *parts])


def encode_response(message: Struct, version: int, correlation_id: int, tags: UnknownTags = ()) -> bytes:
    return b"".join(encode_response_buffers(message, version, correlation_id, tags))


def response_correlation_id(frame: Buffer) -> int:
    """The correlation id alone: all that a reader knows before it knows which request is answered."""
    if len(frame) < 4:
        raise Malformed("ResponseHeader", "data", 0, len(frame), "the bytes end inside the correlation id")
    return int.from_bytes(frame[:4], "big", signed=True)


def decode_response(api_name: str, version: int, frame: Buffer) -> tuple[int, Struct]:
    """Correlation id and message of a whole response."""
    head, pos = decode_prefix("ResponseHeader", "data", apis.by_name(api_name).response_header_version(version), frame)
    message, stop = decode_prefix(api_name, "response", version, frame, pos)
    _nothing_left(api_name, "response", version, frame, stop)
    return head.correlation_id, message


def _nothing_left(api: str, direction: str, version: int, frame: Buffer, stop: int) -> None:
    if stop != len(frame):
        raise Malformed(api, direction, version, stop, f"{len(frame) - stop} bytes left over")
