"""The second opinion: what the fast paths call a contradiction is put to porcupine, and drawn by it.

    for opinion in cross_checks(history, judgement.anomalies, pictures=folder):
        print(opinion.sentence)    # "Cross-checked by porcupine v1.3.1 go1.26.8: no order of these 4 operations ..."

Only anomalies about the order of operations on one object are asked about (OBJECTS). Each is reduced to the operations
that prove it, with those around them for the picture; a part of a history that is no explanation of itself is none of
the whole either, because every operation left out could only have demanded more. The verdict stays that of the fast
path: an engine that finds an order (`refuted`) shows a defect of this program, and one that does not come to an end, or
is absent (`open`), confirms nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.engines.base import topics
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.linearizability import commit_window, log_window
from brokertrial.checkers.linearizability.porcupine.build import PorcupineMissing
from brokertrial.checkers.linearizability.porcupine.client import TimelineMark, draw
from brokertrial.checkers.linearizability.porcupine.client import rule as ask_porcupine
from brokertrial.checkers.linearizability.porcupine.process import Limits, PorcupineRefused
from brokertrial.checkers.linearizability.search.engine import search
from brokertrial.checkers.linearizability.search.question import Question, SearchResult
from brokertrial.checkers.minimise.part import HistorySlice, relations
from brokertrial.histories.reader import History
from brokertrial.histories.windows import fault_windows

LIMITS = Limits(timeout_s=20, memory_mb=512)
MOST = 20
"""Anomalies of one history that are put to the other engine: more of them say nothing new."""

CrossCheckVerdict = Literal["confirmed", "refuted", "open"]
QuestionsFor = Callable[[Mapping[str, pa.Table], Anomaly], list[Question]]


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """What the other engine says of one anomaly; `operations` are those that it was shown, `picture` its drawing."""

    anomaly: Anomaly
    verdict: CrossCheckVerdict
    sentence: str
    operations: tuple[int, ...]
    picture: Path | None = None


@dataclass(frozen=True, slots=True)
class CheckedObject:
    """How to ask about anomalies of some names: the projections of their check, and the questions, widest first."""

    projections: Mapping[str, str]
    questions: QuestionsFor


OBJECTS: Mapping[str, CheckedObject] = {
    **dict.fromkeys(log_window.NAMES, CheckedObject(log_window.PROJECTIONS, log_window.questions)),
    **dict.fromkeys(commit_window.NAMES, CheckedObject(commit_window.PROJECTIONS, commit_window.questions)),
}


def cross_checks(
    history: History,
    anomalies: Sequence[Anomaly],
    pictures: Path | None = None,
    limits: Limits = LIMITS,
    part: HistorySlice | None = None,
) -> list[CrossCheck]:
    """One opinion for each anomaly that is about order, up to MOST; drawn into the folder `pictures` if given.

    `part`: what is left of the history after it was minimised; the engine is shown operations of this part alone.
    """
    asked = [anomaly for anomaly in anomalies if anomaly.name in OBJECTS][:MOST]
    if not asked:
        return []
    with (
        DuckDBEngine.over([history])
        if part is None
        else DuckDBEngine.over_tables(relations([part], topics([history]))) as duck
    ):
        tables = {id(kind): _tables(duck, kind) for kind in {id(each): each for each in OBJECTS.values()}.values()}
    marks = fault_marks(history) if pictures else []
    opinions = []
    for number, anomaly in enumerate(asked, start=1):
        kind = OBJECTS[anomaly.name]
        picture = pictures / f"{anomaly.name}-{number}.html" if pictures else None
        opinions.append(_opinion(anomaly, kind.questions(tables[id(kind)], anomaly), picture, marks, limits))
    return opinions


def fault_marks(history: History) -> list[TimelineMark]:
    """The fault windows of a history, to be shown beside its operations."""
    return [
        TimelineMark("faults", window.begin_ns, window.end_ns, window.id, window.name)
        for window in fault_windows(history.rows("events"), history.header.schedule)
    ]


def _tables(duck: DuckDBEngine, kind: CheckedObject) -> Mapping[str, pa.Table]:
    return {name: duck.table(query) for name, query in kind.projections.items()}


def _opinion(
    anomaly: Anomaly, questions: Sequence[Question], picture: Path | None, marks: Sequence[TimelineMark], limits: Limits
) -> CrossCheck:
    """The answer to the widest question that the engine answers."""
    if not questions:
        return CrossCheck(anomaly, "open", "Not cross-checked: its operations are not in the history.", ())
    try:
        question, answer = _first_answered(questions, picture, marks, limits)
    except PorcupineMissing as missing:
        return _without_porcupine(anomaly, questions[-1], str(missing))
    except (PorcupineRefused, OSError) as problem:
        return CrossCheck(anomaly, "open", f"Not cross-checked: {problem}", ())
    operations = tuple(op.op for op in question.ops if op.op > 0)
    drawn = picture if picture is not None and picture.exists() else None
    return CrossCheck(anomaly, _verdict(answer), _sentence(answer, len(operations)), operations, drawn)


def _first_answered(
    questions: Sequence[Question], picture: Path | None, marks: Sequence[TimelineMark], limits: Limits
) -> tuple[Question, SearchResult]:
    for question in questions[:-1]:
        answer = _ask(question, picture, marks, limits)
        if answer.ruling != "unknown":
            return question, answer
    return questions[-1], _ask(questions[-1], picture, marks, limits)


def _ask(question: Question, picture: Path | None, marks: Sequence[TimelineMark], limits: Limits) -> SearchResult:
    if picture is None:
        return ask_porcupine([question], limits)[0]
    picture.parent.mkdir(parents=True, exist_ok=True)
    return draw(question, picture, _near(question, marks), limits)


def _near(question: Question, marks: Sequence[TimelineMark]) -> list[TimelineMark]:
    """The faults that were there while the operations ran, cut to that time."""
    times = [at for op in question.ops for at in (op.call, op.ret) if at is not None]
    begin, end = min(times), max(times)
    return [
        TimelineMark(mark.tag, max(begin, mark.begin), min(end, mark.end), mark.text, mark.details)
        for mark in marks
        if mark.begin <= end and mark.end >= begin
    ]


def _without_porcupine(anomaly: Anomaly, question: Question, why: str) -> CrossCheck:
    own = search(question)
    said = {"illegal": "agrees", "ok": "does not agree", "unknown": "came to no end"}[own.ruling]
    verdict: CrossCheckVerdict = "refuted" if own.ruling == "ok" else "open"
    operations = tuple(op.op for op in question.ops if op.op > 0)
    return CrossCheck(anomaly, verdict, f"Not cross-checked by porcupine: {why} Our own search {said}.", operations)


def _verdict(answer: SearchResult) -> CrossCheckVerdict:
    return "confirmed" if answer.ruling == "illegal" else "refuted" if answer.ruling == "ok" else "open"


def _sentence(answer: SearchResult, count: int) -> str:
    if answer.ruling == "illegal":
        return f"Cross-checked by {answer.engine}: no order of these {count} operations explains their answers."
    if answer.ruling == "ok":
        return (
            f"{answer.engine} finds an order for these {count} operations: the engines disagree, which is our defect."
        )
    return f"Not cross-checked: {answer.engine or 'porcupine'} came to no end ({answer.reason})."
