"""How a wire case ends early. Only the first four speak against the broker; everything else is ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from brokertrial.suites.result import Evidence


class BrokerAtFault(Exception):
    """The broker broke a promise; `kind` is a Reason kind, `evidence` the exchanges that prove it.

    `about` names the API and the field that were wrong (`Produce.responses.base_offset`), for the failure's signature.
    `step` is what the case did on its way to its subject (suites/probe/prerequisites.py), where it failed in that.
    """

    kind = "statement"

    def __init__(
        self,
        sentence: str,
        evidence: tuple[Evidence, ...] = (),
        ops: tuple[int, ...] = (),
        about: str = "",
        step: str = "",
    ) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.evidence = evidence
        self.ops = ops
        self.about = about
        self.step = step
        self.part = ""
        """Which part of the case found it, where the case went on behind it."""
        self.guarantees: tuple[str, ...] = ()
        """What it breaks, where that is not what the case is about."""


class StatementFalse(BrokerAtFault):
    """A statement of the case is false of an answer."""


class ProtocolBroken(BrokerAtFault):
    """An answer that no client could read: malformed, or with the wrong correlation id."""

    kind = "protocol"


class NoResponse(BrokerAtFault):
    """No answer within the deadline, or the connection closed instead; a failure only while others are served."""

    kind = "no-answer"


class ConnectFailed(NoResponse):
    """A connection was refused or did not come about within its deadline."""


@contextmanager
def breaks(*guarantees: str) -> Iterator[None]:
    """What goes wrong inside breaks these guarantees; of several that are around it the innermost says which."""
    try:
        yield
    except BrokerAtFault as error:
        error.guarantees = error.guarantees or guarantees
        raise


class NotApplicable(Exception):
    """The case cannot be decided here: the target does not offer what it needs."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


class Unclear(Exception):
    """The case could not be carried to its end, and that proves nothing: inconclusive, with this reason."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


class TranscriptMismatch(Exception):
    """A stored case asked for something else than its tape holds: the history was changed, or the case is not a
    function of its answers."""
