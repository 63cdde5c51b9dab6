"""One request on its way, and the answer to it: what faults and observers look at. Decoded at most once each, and only
when asked."""

import random
from dataclasses import dataclass, field
from typing import Any

from brokertrial.faults.proxy.address_rewriting import answer_version
from brokertrial.faults.seeded_random import seeded_random
from brokertrial.wire.apis import Api
from brokertrial.wire.codec import Malformed, decode, decode_prefix, encode
from brokertrial.wire.messages import Struct


class UndecodableMessage(Exception):
    """A message that cannot be decoded; it passes as it is."""


@dataclass(slots=True, eq=False)
class ProxiedExchange:
    """One request and its answer."""

    api_of: Api | None
    key: int
    version: int
    correlation_id: int
    client: str
    node: int
    connection: int
    frame: bytes | None
    at_ns: int
    is_response: bool = False
    readable: bool = True
    """Whether the API and version are known to us."""
    answer_frame: bytes | None = None
    answered: bytes | None = None
    """What the client will be sent, once known."""
    delay: float = 0.0
    gate: Any = None
    final: bool = False
    """Close the connection instead of answering."""
    withhold_response: bool = False
    client_correlation_id: int | None = None
    """The correlation id under which the client hears this answer, when it is another one."""
    local: bool = False
    intercepted: bool = False
    windows: list[Any] = field(default_factory=list)
    """(window, draws) of those that picked this request and may still bite its answer."""
    hit_by: set[str] = field(default_factory=set)
    hits: list[Any] = field(default_factory=list)
    """Hits that wait for the broker's own code before they are told."""
    batches: list[Any] = field(default_factory=list)
    batches_reported: bool = False
    _request: Struct | None = None
    _answer: Struct | None = None
    _answer_body: int = 8
    _surplus: bytes = b""
    draws: tuple[int, tuple[object, ...]] | None = None
    answer_is_edited: bool = False

    @property
    def api(self) -> str:
        return self.api_of.name if self.api_of else f"api {self.key}"

    @property
    def request(self) -> Struct:
        """The decoded request; Unreadable when it is none."""
        if self._request is None:
            if not self.readable or self.frame is None or self.api_of is None:
                raise UndecodableMessage(self.api)
            try:
                header = self.api_of.request_header_version(self.version)
                _, body = decode_prefix("RequestHeader", "data", header, self.frame, 4)
                self._request = decode(self.api_of.name, "request", self.version, memoryview(self.frame)[body:])
            except Malformed as problem:
                raise UndecodableMessage(str(problem)) from problem
        return self._request

    def readable_request(self) -> Struct | None:
        """The decoded request, or None."""
        try:
            return self.request
        except UndecodableMessage:
            return None

    @property
    def answer(self) -> Struct:
        """The decoded answer, as edited so far; Unreadable when it is none. Bytes behind its end, which some brokers
        write, travel on as they came: to convict them of that is not the proxy's business."""
        if self._answer is None:
            if not self.readable or self.answer_frame is None or self.api_of is None:
                raise UndecodableMessage(self.api)
            try:
                header = self.api_of.response_header_version(self.version)
                _, self._answer_body = decode_prefix("ResponseHeader", "data", header, self.answer_frame, 4)
                body = memoryview(self.answer_frame)[self._answer_body :]
                version = answer_version(self.key, self.version, body)
                self._answer, stop = decode_prefix(self.api_of.name, "response", version, body)
                self._surplus = bytes(body[stop:])
            except Malformed as problem:
                raise UndecodableMessage(str(problem)) from problem
        return self._answer

    def readable_answer(self) -> Struct | None:
        """The decoded answer, or None."""
        try:
            return self.answer
        except UndecodableMessage:
            return None

    def replace_answer(self, answer: Struct) -> None:
        """The client shall be sent this."""
        self._answer = answer
        self.answer_is_edited = True

    def answer_bytes(self) -> bytes:
        """The frame for the client: the broker's own bytes unless something was edited. The header is copied, with all
        its tags."""
        if not self.answer_is_edited:
            assert self.answer_frame is not None, "asked for before the answer came"
            return self.answer_frame
        assert self.answer_frame is not None and self._answer is not None
        old_body = memoryview(self.answer_frame)[self._answer_body :]
        body = encode(self._answer, answer_version(self.key, self.version, old_body)) + self._surplus
        header = self.answer_frame[4 : self._answer_body]
        return (len(header) + len(body)).to_bytes(4, "big") + header + body

    def local_answer(self, answer: Struct, version: int | None = None) -> bytes:
        """A frame of our own in the broker's stead."""
        assert self.api_of is not None
        tags = b"\x00" if self.api_of.response_header_version(self.version) == 1 else b""
        body = self.correlation_id.to_bytes(4, "big", signed=True) + tags
        body += encode(answer, self.version if version is None else version)
        return len(body).to_bytes(4, "big") + body

    def replace_request(self, request: Struct) -> None:
        """The broker shall be sent this."""
        assert self.api_of is not None and self.frame is not None
        header = self.api_of.request_header_version(self.version)
        _, body = decode_prefix("RequestHeader", "data", header, self.frame, 4)
        encoded = encode(request, self.version)
        self.frame = (body - 4 + len(encoded)).to_bytes(4, "big") + self.frame[4:body] + encoded
        self._request = request

    def copied(self, correlation_id: int, at_ns: int) -> "ProxiedExchange":
        """The same request under another correlation id; its answer is heard under the one of this."""
        assert self.frame is not None
        frame = self.frame[:8] + correlation_id.to_bytes(4, "big", signed=True) + self.frame[12:]
        head = (self.api_of, self.key, self.version, correlation_id, self.client, self.node, self.connection)
        return ProxiedExchange(*head, frame, at_ns, intercepted=True, client_correlation_id=self.correlation_id)

    def draws_from(self, seed: int, *what: object) -> None:
        """Names the stream of this message's own random numbers."""
        self.draws = (seed, what)

    @property
    def random(self) -> random.Random:
        """A stream of this message's own."""
        seed, what = self.draws or (0, (self.connection, self.correlation_id))
        return seeded_random(seed, *what)
