"""Puts questions to the helper: many small histories to one process, a large one to its own, limits that hold.

Time is limited twice over: the library gives up after `timeout_s`, and the process is killed when an answer is
overdue. Memory too: the helper stops a search that nears `memory_mb`, and the system refuses it more than that and a
little. Whatever ends a history without a verdict makes it unknown; those behind it go to a new process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from brokertrial.checkers.linearizability.porcupine.build import helper
from brokertrial.checkers.linearizability.porcupine.process import Limits, Process
from brokertrial.checkers.linearizability.search.question import Op, Question, Ruling, SearchResult

PROTOCOL = 1
LARGE = 200_000
"""Bytes of a history that gets a process of its own: some 2,000 operations."""


@dataclass(frozen=True, slots=True)
class TimelineMark:
    """Something to show beside the operations, such as a fault window; times as in the operations."""

    tag: str
    begin: int
    end: int
    text: str
    details: str = ""
    colour: str = "#f3c677"


class _ResultLine(msgspec.Struct):
    id: str
    verdict: Ruling
    engine: str
    steps: int
    reason: str | None = None
    prefix: tuple[int, ...] = ()
    blocked: tuple[int, ...] = ()


_LINES = msgspec.json.Decoder(_ResultLine)


def rule(
    questions: Sequence[Question], limits: Limits = Limits(), *, program: Path | None = None
) -> list[SearchResult]:
    """The answers, in the order of the questions. Raises PorcupineMissing and PorcupineRefused."""
    return _all_answers([request(question, limits) for question in questions], limits, program or helper())


def draw(
    question: Question, picture: Path, marks: Sequence[TimelineMark] = (), limits: Limits = Limits(), *,
    program: Path | None = None,
) -> SearchResult:  # fmt: skip
    """The answer to one small question, and porcupine's picture of it as one HTML file: for a window, not a history."""
    scene = {"want": "html", "html": str(picture.resolve()), "annotate": [_annotation(mark) for mark in marks]}
    return _all_answers([request(question, limits, **scene)], limits, program or helper())[0]


def _annotation(mark: TimelineMark) -> dict[str, Any]:
    return {
        "tag": mark.tag, "begin": mark.begin, "end": mark.end,
        "text": mark.text, "details": mark.details, "colour": mark.colour,
    }  # fmt: skip


def request(question: Question, limits: Limits, **more: Any) -> bytes:
    """A question as the helper reads it: a header, then a line for each operation."""
    if not question.ops:
        raise ValueError(f"history {question.name!r} is empty: nothing can be said of it.")
    header = {
        "proto": PROTOCOL, "id": question.name, "model": question.model, "ops": len(question.ops),
        "timeout_ms": max(1, round(limits.timeout_s * 1000)), "init": question.init, **more,
    }  # fmt: skip
    return b"\n".join(map(msgspec.json.encode, [header, *map(_line, question.ops)])) + b"\n"


def _line(op: Op) -> dict[str, Any]:
    return {
        "i": op.op, "client": op.client, "call": op.call, "ret": op.ret, "f": op.f, "in": op.asked, "out": op.told,
        "note": op.note,
    }  # fmt: skip


def _all_answers(requests: Sequence[bytes], limits: Limits, program: Path) -> list[SearchResult]:
    answers: list[SearchResult] = []
    while len(answers) < len(requests):
        batch = _batch(requests, len(answers))
        wanted = len(answers) + len(batch)
        with Process.started(program, batch, limits) as process:
            answers += map(_answer, process.lines())
            if len(answers) < wanted:
                answers.append(SearchResult("unknown", process.cause()))
    return answers


def _batch(requests: Sequence[bytes], begin: int) -> Sequence[bytes]:
    """The small ones from `begin` on, or a large one alone."""
    end = begin
    while end < len(requests) and len(requests[end]) <= LARGE:
        end += 1
    return requests[begin : max(end, begin + 1)]


def _answer(text: bytes) -> SearchResult:
    line = _LINES.decode(text)
    return SearchResult(line.verdict, line.reason or "", line.steps, line.prefix, line.blocked, line.engine)
