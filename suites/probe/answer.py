"""One answer and what a case may demand of it. A demand that is false ends the case with both messages as proof.

An answer that was not waited for (`wait=False`) is fetched at the first look at its content. An answer with an error
that the case neither expected nor looked at ends the case too: what a case does not mention must simply work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Self

from brokertrial.suites.probe.failures import StatementFalse
from brokertrial.suites.probe.rendering import at_path, errors_in, render, shown
from brokertrial.suites.result import Evidence
from brokertrial.wire import errors
from brokertrial.wire.frames import decode_request, decode_response
from brokertrial.wire.messages import Struct

SIZE_BYTES = 4
"""In front of each frame that is sent."""


class PendingExchange:
    """A request that left, and the answer to it once that is here."""

    def __init__(
        self,
        request: Struct,
        version: int,
        frame: bytes,
        sent_ns: int,
        where: str,
        arrive: Callable[[PendingExchange], None],
    ) -> None:
        self.number = 0
        self.request = request
        self.version = version
        self.frame = frame
        self.sent_ns = sent_ns
        self.where = where
        self.answer: Struct | None = None
        self.answer_frame = b""
        self.received_ns = 0
        self.step = ""
        """What a case does by it on its way to its subject, where it is asked as ordinary clients ask."""
        self.reworded = False
        """Whether a situation worded it otherwise: `request` and `answer` are the case's, the frames what was sent."""
        self._arrive = arrive

    def wait(self) -> Struct:
        """The answer; waits for it, and for those that must come before it on the same connection."""
        if self.answer is None:
            self._arrive(self)
        assert self.answer is not None
        return self.answer

    def evidence(self, marks: tuple[str, ...] = (), note: str = "") -> tuple[Evidence, ...]:
        """The exchange as proof: the decoded request and answer, the latter with the fields in question marked."""
        asked, answer = self.request, self.answer
        if self.reworded:
            asked = decode_request(self.frame[SIZE_BYTES:])[1]
            answer = decode_response(asked._api, self.version, self.answer_frame)[1] if answer is not None else None
        text, _ = render(asked, self.version)
        proof = [Evidence("request", f"{text}\n  -> {self.where}", op=self.number, bytes_hex=self.frame.hex())]
        if answer is not None:
            text, marked = render(answer, self.version, marks)
            proof.append(
                Evidence("answer", text, op=self.number, note=note, marked=marked, bytes_hex=self.answer_frame.hex())
            )
        return tuple(proof)


class Response:
    """The answer to one request. Subclasses add what is specific to an API."""

    #: Where the error codes are that this answer is about; empty means anywhere in the message.
    places: tuple[str, ...] = ()

    def __init__(self, asked: PendingExchange) -> None:
        self.asked = asked
        self.examined = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}(exchange {self.asked.number})"

    # what it says

    @property
    def struct(self) -> Struct:
        """The whole decoded answer. Looking at it means that the case deals with its errors itself."""
        self.examined = True
        return self.asked.wait()

    @property
    def version(self) -> int:
        return self.asked.version

    @property
    def error(self) -> int:
        """The first error code that is not 0, else 0."""
        self.examined = True
        return self._error()

    @property
    def took_ms(self) -> float:
        """From the request leaving to the answer being complete."""
        self.asked.wait()
        return (self.asked.received_ns - self.asked.sent_ns) / 1e6

    def at(self, path: str) -> Any:
        """The value at a path such as `topics[0].partitions[0].offset`."""
        return at_path(self.struct, path)

    # what must hold

    def must_succeed(self) -> Self:
        """No error code of the answer may be set."""
        self.examined = True
        if found := self._errors():
            path, code = found[0]
            self._is_false(f"{path} is {_named(code)}; it must succeed", path, step=self.asked.step)
        return self

    def must_be_refused(self, *codes: int) -> Self:
        """The answer must carry an error: one of these, or any when none is named."""
        self.examined = True
        found = self._errors()
        wanted = " or ".join(_named(code) for code in codes) or "an error"
        if not found:
            places = self.places or ("error_code",)
            self.is_false(f"it succeeded; it must be refused with {wanted}", *places)
        if codes and (wrong := [(path, code) for path, code in found if code not in codes]):
            self.is_false(f"{wrong[0][0]} is {_named(wrong[0][1])}; it must be {wanted}", wrong[0][0])
        return self

    def must_have(self, path: str, value: Any) -> Self:
        """The field at a path must equal a value."""
        try:
            found = self.at(path)
        except (AttributeError, IndexError, TypeError):
            self.is_false(f"the answer has no {path}; it must be {value!r}")
        if found != value:
            name = path.rpartition(".")[2]
            self.is_false(f"{path} is {shown(name, found)}; it must be {shown(name, value)}", path)
        return self

    def must(self, holds: bool, statement: str, *paths: str) -> Self:
        """A statement of the case about this answer, with the fields that it is about."""
        self.examined = True
        if not holds:
            self.is_false(statement, *paths)
        return self

    def is_false(self, sentence: str, *paths: str) -> NoReturn:
        """Ends the case: this is not so."""
        self._is_false(sentence, *paths)

    def _is_false(self, sentence: str, *paths: str, step: str = "") -> NoReturn:
        self.asked.wait()
        raise StatementFalse(
            f"{self.asked.request._api} v{self.version}: {sentence}",
            self.asked.evidence(paths, sentence),
            (self.asked.number,),
            ".".join((self.asked.request._api, *paths[:1])),
            step,
        )

    # for the probe

    def settle(self) -> None:
        """Ends the case if an error came that it never looked at. An answer still under way is left alone."""
        if not self.examined and self.asked.answer is not None:
            self.must_succeed()

    def _errors(self) -> list[tuple[str, int]]:
        struct = self.asked.wait()
        if not self.places:
            return list(errors_in(struct))
        return [(place, code) for place in self.places if (code := at_path(struct, place))]

    def _error(self) -> int:
        found = self._errors()
        return found[0][1] if found else 0


def _named(code: int) -> str:
    return f"{errors.name(code)} ({code})" if code else "no error (0)"
