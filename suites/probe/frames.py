"""Frames as they are: wrong on purpose, cut, pipelined, on a connection of your own: `line = wire.connect("x")`."""

from __future__ import annotations

from typing import Any

from suites.probe.core import SOFTWARE, Core
from suites.probe.failures import NoAnswer, ProtocolBroken, StatementFalse
from suites.probe.line import Line
from suites.result import Evidence
from wire.codec import Malformed
from wire.frames import decode_response
from wire.messages import Struct, request
from wire.unchecked import unchecked_request


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

    def decoded(self, api: str, version: int, frame: bytes, *, correlation_id: int) -> Struct:
        """An answer frame as a message; one that cannot be read, or answers another request, fails the case."""
        proof = (Evidence("answer", f"{len(frame)} bytes, read as {api} v{version}", bytes_hex=frame.hex()),)
        try:
            got, struct = decode_response(api, version, frame)
        except Malformed as error:
            raise ProtocolBroken(f"{api} v{version}: the answer cannot be decoded: {error}", proof) from error
        if got != correlation_id:
            raise ProtocolBroken(f"{api} v{version}: correlation id {got}; it must be {correlation_id}", proof)
        return struct

    def must_close(self, line: Line, within: float = 10.0, *, because: str) -> None:
        """The broker must close this connection within the time."""
        if not line.is_closed(within + self.slack_s):
            self.too_late(
                f"the connection is still open after {within + self.slack_s:.0f} s: {because}",
                (Evidence("statement", because),),
            )

    def must_refuse(self, line: Line, within: float = 10.0, *, because: str) -> bytes:
        """The broker must answer (the frame is returned) or close the connection (empty bytes), not stay silent."""
        try:
            return line.receive_bytes(within + self.slack_s)
        except NoAnswer:
            if not line.open:
                return b""
            self.too_late(f"neither an answer nor a close: {because}", (Evidence("statement", because),))

    def must_stay_silent(self, line: Line, within: float = 0.5, *, because: str) -> None:
        """No answer may come on this connection, and it must stay open."""
        try:
            frame = line.receive_bytes(within)
        except NoAnswer as error:
            if line.open:
                return
            raise StatementFalse(f"the connection was closed: {because}", (Evidence("statement", because),)) from error
        raise StatementFalse(
            f"an answer of {len(frame)} bytes came: {because}", (Evidence("answer", because, bytes_hex=frame.hex()),)
        )

    def must_still_serve(self, via: str = "another") -> None:
        """A connection besides the one in question must be answered as ever."""
        self.ask(
            request("ApiVersions", **SOFTWARE),
            version=self.versions("ApiVersions")[0],
            via=via,
        ).must_succeed()
