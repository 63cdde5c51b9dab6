"""A difference made small: a story of a few requests, what both brokers answered, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from brokertrial.suites.explore.comparison import AnswerDifference, DifferingField
from brokertrial.suites.explore.promises import broken_by
from brokertrial.suites.explore.script import script
from brokertrial.suites.explore.sequence import ComparedExchange, SequenceOutcome
from brokertrial.suites.explore.step import StepBatch, StepMemberState, Symbol
from brokertrial.suites.guarantees import registry
from brokertrial.wire import errors

CHECKS = 3


class ShownPlace(msgspec.Struct, frozen=True):
    """A field that differs, and what either broker has in it."""

    path: str
    oracle: str
    target: str


class ShownExchange(msgspec.Struct, frozen=True):
    """A request of a story and both answers, as plain data; an answer is a word where there was none."""

    api: str
    version: int
    connection: int
    request: Any
    oracle: Any
    target: Any


class ShrunkDifference(msgspec.Struct, frozen=True):
    """One cause of differences, with the shortest sequence that shows it."""

    cause: str
    api: str
    version: int
    places: tuple[ShownPlace, ...]
    story: tuple[ShownExchange, ...]
    choices: tuple[tuple[int, ...], ...]
    found_length: int
    """Requests of the sequence in which it was first met."""
    found_after_s: float
    guarantee: str = ""
    harm: str = ""
    reproduced: int = 0
    """In how many of `checks` plays on fresh brokers it showed again."""
    checks: int = 0
    met: int = 1
    script: str = ""
    """A Python program that shows it (script.py)."""
    known: str = ""
    """Why it is known, where it is."""

    @property
    def confirmed(self) -> bool:
        """Whether it showed each of three times that it was played on fresh brokers."""
        return self.reproduced == self.checks == CHECKS

    @property
    def breaks_must(self) -> bool:
        """Whether it breaks a guarantee that every broker must give."""
        guarantee = registry().get(self.guarantee)
        return guarantee is not None and guarantee.level == "must"


def finding_of(outcome: SequenceOutcome, found_length: int, after_s: float, oracle: str) -> ShrunkDifference:
    """The finding that a shrunk sequence shows."""
    difference = outcome.difference
    assert difference is not None
    harm = broken_by(difference)
    return ShrunkDifference(
        difference.cause,
        difference.api,
        difference.version,
        tuple(map(_place, difference.places)),
        tuple(map(_exchange, outcome.exchanges)),
        outcome.choices,
        found_length,
        round(after_s, 1),
        harm.guarantee if harm else "",
        harm.what if harm else "",
        script=script(outcome, oracle, difference.cause),
    )


def same_cause(finding: ShrunkDifference, difference: AnswerDifference | None) -> bool:
    """Whether a difference is that of a finding."""
    return difference is not None and difference.cause == finding.cause


def _place(place: DifferingField) -> ShownPlace:
    is_code = place.path.endswith("error_code")
    return ShownPlace(place.path, *(_value(value, is_code) for value in (place.oracle, place.target)))


def _value(value: Any, is_code: bool) -> str:
    if is_code and isinstance(value, int):
        return f"{errors.name(value)} ({value})"
    return str(plain(value))


def _exchange(exchange: ComparedExchange) -> ShownExchange:
    step = exchange.step
    answers = (plain(reply.answer) for reply in (exchange.oracle, exchange.target))
    return ShownExchange(step.api, step.version, step.connection, plain(step.fields), *answers)


def plain(value: Any) -> Any:
    """A request or an answer as text, numbers, lists and maps; ids as symbols, batches in a few words."""
    match value:
        case Mapping():
            return {str(key): plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case Symbol():
            return str(value)
        case StepBatch():
            return batch_in_words(value)
        case StepMemberState():
            more = f" + {value.plus}" if value.plus else ""
            return (
                f"the {'epoch' if value.what == 'epoch' else 'partitions'} that {plain(value.member)} was given{more}"
            )
        case bytes() | memoryview():
            return bytes(value).decode("latin-1")
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def batch_in_words(batch: StepBatch) -> str:
    """What is in a batch, what is plain left out."""
    words = [f"{batch.count} record{'s' if batch.count != 1 else ''}"]
    if batch.producer != -1:
        words.append(f"producer {batch.producer} epoch {batch.epoch} sequence {batch.sequence}")
    words += ["transactional"] if batch.transactional else []
    words += [batch.compression] if batch.compression != "none" else []
    words += [f"key {batch.key.decode()}"] if batch.key else []
    words += [f"{batch.shape} values" if batch.shape == "null" else "with headers"] if batch.shape != "plain" else []
    words += [f"{name} set to {number}" for name, number in batch.wrong]
    words += [f"values of {batch.size} bytes"] if batch.size > 100 else []
    return "batch of " + ", ".join(words)
