"""Frames as they are: wrong on purpose, cut, pipelined, on a connection of your own: `line = wire.connect("x")`."""

from __future__ import annotations

import struct
from typing import Any

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.connection import ProbeConnection
from brokertrial.suites.probe.core import SOFTWARE, Core
from brokertrial.suites.probe.failures import NoResponse, ProtocolBroken, StatementFalse, Unclear
from brokertrial.suites.probe.fitting import fitted
from brokertrial.suites.probe.rendering import errors_in, render
from brokertrial.suites.result import Evidence
from brokertrial.wire.apis import by_key
from brokertrial.wire.codec import Malformed
from brokertrial.wire.frames import decode_response
from brokertrial.wire.messages import Struct, request
from brokertrial.wire.unchecked import unchecked_request


class FramesFamily(Core):
    """`wire.must_close(line, wire.frame(request(...))[:-3])`"""

    def frame(
        self,
        asked: Struct,
        version: int,
        *,
        correlation_id: int = 1,
        client_id: str | None = "client",
        **wrong: Any,
    ) -> bytes:
        """A request as bytes, with its size, for `line.send_bytes`.

        `wrong` as in wire/unchecked.py: replace, lengths, tags, omit, trailing, cut, size, api_key, api_version ...
        """
        return bytes(unchecked_request(asked, version, correlation_id, client_id, **wrong))

    def ask_oddly(
        self,
        asked: Struct,
        version: int,
        *,
        via: str,
        to: int | None = None,
        client_id: str | None = "client",
        **wrong: Any,
    ) -> Response:
        """A request that is valid and written as few do (`wrong` as for `frame`); its answer stays under way."""
        line, fit = self._line(via, to), fitted(asked, version)
        sent = line.send(
            fit,
            version,
            written=lambda number: self.frame(fit, version, correlation_id=number, client_id=client_id, **wrong),
        )
        answer = Response(sent)
        self._answered(answer)
        return answer

    def decoded(self, api: str, version: int, frame: bytes, *, correlation_id: int) -> Struct:
        """An answer frame as a message; one that cannot be read, or answers another request, fails the case."""
        proof = (Evidence("answer", f"{len(frame)} bytes, read as {api} v{version}", bytes_hex=frame.hex()),)
        got = int.from_bytes(frame[:4], "big", signed=True)
        if len(frame) >= 4 and got != correlation_id:  # whose it is, before it is read as something that it is not
            raise ProtocolBroken(f"{api} v{version}: correlation id {got}; it must be {correlation_id}", proof)
        try:
            return decode_response(api, version, frame)[1]
        except Malformed as error:
            raise ProtocolBroken(f"{api} v{version}: the answer cannot be decoded: {error}", proof) from error

    def must_close(self, line: ProbeConnection, within: float = 10.0, *, because: str) -> None:
        """The broker must close this connection within the time."""
        if not line.is_closed(within + self.slack_s):
            self.too_late(
                f"the connection is still open after {within + self.slack_s:.0f} s: {because}",
                (Evidence("statement", because),),
            )

    def must_refuse(self, line: ProbeConnection, within: float = 10.0, *, because: str, asked: bytes = b"") -> bytes:
        """The broker must answer (the frame is returned) or close the connection (empty bytes), not stay silent.

        With the frame that was `asked` the answer is read, and must carry an error.
        """
        try:
            frame = line.receive_bytes(within + self.slack_s)
        except NoResponse as error:
            if not line.open:
                return b""
            raise StatementFalse(
                f"neither an answer nor a close: {because}", (Evidence("statement", because),)
            ) from error
        if asked:
            self._must_carry_an_error(asked, frame, because)
        return frame

    def _must_carry_an_error(self, asked: bytes, frame: bytes, because: str) -> None:
        key, version, number = struct.unpack_from(">hhi", asked, 4)
        api = by_key(key)
        if api is None:
            raise Unclear("suite", f"no API has the key {key}")
        answer = self.decoded(api.name, version, frame, correlation_id=number)
        if not any(True for _ in errors_in(answer)):
            text, _ = render(answer, version)
            request_shown = Evidence("request", f"{api.name} v{version}: {because}", bytes_hex=asked[:2_000].hex())
            raise StatementFalse(
                f"{api.name} v{version} is answered without an error: {because}",
                (request_shown, Evidence("answer", text, bytes_hex=frame.hex())),
            )

    def must_still_serve(self, via: str = "another") -> None:
        """A connection besides the one in question must be answered as ever."""
        self.ask(
            request("ApiVersions", **SOFTWARE),
            version=self.versions("ApiVersions")[0],
            via=via,
        ).must_succeed()
