"""One request on its way, and the response to it: values that nobody changes, decoded only when they must be."""

import msgspec
from msgspec.structs import force_setattr

from brokertrial.faults.proxy.address_rewriting import answer_version
from brokertrial.wire.apis import Api
from brokertrial.wire.codec import Malformed, decode, decode_prefix, encode
from brokertrial.wire.messages import Struct

CORRELATION_ID = slice(8, 12)
"""Where a request frame has its correlation id."""


class UndecodableMessage(Exception):
    """A message that cannot be decoded; it passes as it is."""


class ProxiedRequest(msgspec.Struct, frozen=True, eq=False):
    """A request as it came. `frame` is None where nobody will look inside again, so that its bytes are not kept."""

    schema: Api | None
    key: int
    version: int
    correlation_id: int
    client: str
    node: int
    connection: int
    at_ns: int
    frame: bytes | None
    _body: Struct | None = None
    """Decoded already; of no other meaning."""

    @property
    def api(self) -> str:
        return self.schema.name if self.schema else f"api {self.key}"

    @property
    def supported(self) -> bool:
        """Whether this API and version can be decoded."""
        schema = self.schema
        return schema is not None and schema.min_version <= self.version <= schema.max_version

    @property
    def body(self) -> Struct:
        """The decoded request, to be read only. Raises UndecodableMessage."""
        if self._body is None:
            if not self.supported or self.frame is None or self.schema is None:
                raise UndecodableMessage(self.api)
            try:
                body = decode(self.schema.name, "request", self.version, memoryview(self.frame)[self._header_end() :])
            except Malformed as problem:
                raise UndecodableMessage(str(problem)) from problem
            force_setattr(self, "_body", body)
        assert self._body is not None
        return self._body

    def body_if_readable(self) -> Struct | None:
        """The decoded request, or None."""
        try:
            return self.body
        except UndecodableMessage:
            return None

    def without_frame(self) -> "ProxiedRequest":
        """The same, its bytes forgotten."""
        return msgspec.structs.replace(self, frame=None, _body=None)

    def replaced(self, body: Struct) -> "ProxiedRequest":
        """The same request with another body; the header is copied with all its tags."""
        assert self.frame is not None
        encoded = encode(body, self.version)
        end = self._header_end()
        frame = (end - 4 + len(encoded)).to_bytes(4, "big") + self.frame[4:end] + encoded
        return msgspec.structs.replace(self, frame=frame, _body=None)

    def copied(self, correlation_id: int, at_ns: int) -> "ProxiedRequest":
        """The same request under another correlation id."""
        assert self.frame is not None
        frame = with_correlation_id(self.frame, correlation_id, CORRELATION_ID)
        return msgspec.structs.replace(self, correlation_id=correlation_id, at_ns=at_ns, frame=frame)

    def local_response(self, body: Struct, version: int | None = None) -> bytes:
        """A response frame of our own in the broker's stead; `version`: not that of the request."""
        assert self.schema is not None
        tags = b"\x00" if self.schema.response_header_version(self.version) == 1 else b""
        content = self.correlation_id.to_bytes(4, "big", signed=True) + tags
        content += encode(body, self.version if version is None else version)
        return len(content).to_bytes(4, "big") + content

    def _header_end(self) -> int:
        assert self.schema is not None and self.frame is not None
        header = self.schema.request_header_version(self.version)
        return decode_prefix("RequestHeader", "data", header, self.frame, 4)[1]


class ProxiedResponse(msgspec.Struct, frozen=True, eq=False):
    """The response to a request, as the broker sent it or as a fault has replaced it."""

    request: ProxiedRequest
    frame: bytes
    _body_at: tuple[int, int] | None = None
    """Where the body begins and ends, once decoded; of no other meaning."""

    def decoded(self) -> Struct:
        """The body, decoded for this call alone: its owner may change it. Raises UndecodableMessage."""
        schema = self.request.schema
        if not self.request.supported or schema is None:
            raise UndecodableMessage(self.request.api)
        try:
            header = schema.response_header_version(self.request.version)
            _, begin = decode_prefix("ResponseHeader", "data", header, self.frame, 4)
            data = memoryview(self.frame)[begin:]
            version = answer_version(self.request.key, self.request.version, data)
            body, length = decode_prefix(schema.name, "response", version, data)
        except Malformed as problem:
            raise UndecodableMessage(str(problem)) from problem
        force_setattr(self, "_body_at", (begin, begin + length))
        return body

    def replaced(self, body: Struct) -> "ProxiedResponse":
        """The same response with another body. The header is copied with all its tags, and so are bytes behind the end
        of the body, which some brokers write: to convict them of that is not the proxy's business. Raises ValueError
        for a body that cannot be encoded."""
        if self._body_at is None:
            self.decoded()
        assert self._body_at is not None
        begin, end = self._body_at
        version = answer_version(self.request.key, self.request.version, self.frame[begin:])
        content = self.frame[4:begin] + encode(body, version) + self.frame[end:]
        return ProxiedResponse(self.request, len(content).to_bytes(4, "big") + content)


def with_correlation_id(frame: bytes, correlation_id: int, place: slice = slice(4, 8)) -> bytes:
    """A frame under another correlation id; `place`: where it is, by default where a response has it."""
    return frame[: place.start] + correlation_id.to_bytes(4, "big", signed=True) + frame[place.stop :]
