"""A crash of the client library ends the process that it lives in: what that process had judged, and what it was at.

SIGSEGV in case 17 of 40  ->  16 results kept, case 17 inconclusive (`client`), a new process goes on with case 18
SIGSEGV in one of two     ->  both are run again, one after the other; then as above
    the fifth crash           ->  no other case is run; the report is written and says so
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports import results, running
from brokertrial.histories.header import HistoryRefused
from brokertrial.histories.reader import History
from brokertrial.histories.rows import Exchange, Operation
from brokertrial.suites.events import RunStarted
from brokertrial.suites.outcome import inconclusive
from brokertrial.suites.result import CaseResult, Evidence, Failure, Reason
from brokertrial.suites.running.attempts import attempt_of
from brokertrial.suites.running.case_run import ATTEMPTS
from brokertrial.suites.running.earlier import Earlier
from brokertrial.suites.running.run_folder import history_of
from brokertrial.suites.situations.pairs import case_named

SIGNALS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
"""What a process sends itself by a mistake in native code; the suite is written in Python."""
MOST = 5
"""Crashes of one run, after which it stops."""
SET_ASIDE = "crash-{}"
"""The folder of what was recorded before a crash, of cases that were run again."""
LAST = 8
"""Operations or exchanges that are shown of the time before a crash."""


def after(folder: Path, ended: signal.Signals, before: Earlier | None, interrupted: bool) -> Earlier | None:
    """What the next process takes over; None where the one that crashed had not even announced its cases."""
    told, begun = _told(folder), running.read(folder)
    if told is None or not begun:
        return None
    announced = before.announced if before else told[0]
    suspects = _suspects(begun)
    found = told[1] if suspects else _with_the_crash(folder, announced.seed, told[1], _last_begun(begun), ended)
    (folder / results.NAME).unlink()
    crashes = 1 + (before.crashes if before else 0)
    _set_aside(folder, begun, {result.case for result in found}, crashes)
    return Earlier(
        tuple(found),
        announced,
        spent_s=_spent_s(found, begun),
        crashes=crashes,
        ended=_ended(crashes, interrupted, announced, found),
        interrupted=interrupted,
        suspects=suspects,
    )


def _set_aside(folder: Path, begun: Iterable[running.Running], judged: Collection[str], crashes: int) -> None:
    """The histories of cases that are begun again make room for new ones."""
    again = [one.case for one in begun if one.case not in judged]
    for history in [history_of(case, attempt) for case in again for attempt in range(1, ATTEMPTS + 1)]:
        if (folder / history).is_dir():
            aside = folder / SET_ASIDE.format(crashes) / history
            aside.parent.mkdir(parents=True, exist_ok=True)
            (folder / history).rename(aside)


def _spent_s(found: Iterable[CaseResult], begun: Iterable[running.Running]) -> float:
    """Since the first case was begun, by whatever process: cases that ran side by side took their time together."""
    starts = [result.started_ns for result in found if result.started_ns] + [one.began_ns for one in begun]
    return (time.monotonic_ns() - min(starts)) / 1e9


def _suspects(begun: list[running.Running]) -> tuple[str, ...]:
    """The cases of which one crashed the library, where that may be several: trials alone use it."""
    under_way = [one.case for one in begun if not one.over]
    trials = [name for name in under_way if (case := case_named(name)) is not None and case.kind == "trial"]
    return tuple(trials or under_way) if len(under_way) > 1 else ()


def _last_begun(begun: list[running.Running]) -> running.Running:
    return next((one for one in begun if not one.over), begun[-1])


def _told(folder: Path) -> tuple[RunStarted, list[CaseResult]] | None:
    """The announcement and the results that were written; a last line that was cut short is none."""
    path = folder / results.NAME
    announced: RunStarted | None = None
    found: list[CaseResult] = []
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        with contextlib.suppress(msgspec.DecodeError):
            told = msgspec.json.decode(line, type=results.ResultsHeader | results.ResultLine | results.ResultsFooter)
            if isinstance(told, results.ResultsHeader):
                announced = told.run
            elif isinstance(told, results.ResultLine):
                found.append(told.result)
    return None if announced is None else (announced, found)


def _with_the_crash(
    folder: Path, seed: int, found: list[CaseResult], at: running.Running, ended: signal.Signals
) -> list[CaseResult]:
    """The case that was running is inconclusive; one that had just been judged keeps a failure, and nothing better."""
    said = f"the client library crashed ({ended.name})"
    if not at.over and all(result.case != at.case for result in found):
        why = f"{said} while this case ran: a process ended with all of its clients, and what they did is not known"
        return [*found, _crashed(folder, seed, at, why)]
    warning = f"{said} right after this case"
    return [_spoilt(result, warning) if result.case == at.case else result for result in found]


def _crashed(folder: Path, seed: int, at: running.Running, sentence: str) -> CaseResult:
    case = case_named(at.case)
    assert case is not None, "it was run from the same registry"
    history = history_of(at.case, at.attempt)
    outcome = inconclusive("client", sentence, tuple(_last(folder / history)))
    seed += at.attempt - 1
    return CaseResult.of(
        case,
        outcome,
        attempts=(attempt_of(outcome, seed, history),),
        seed=seed,
        started_ns=at.began_ns,
        ended_ns=time.monotonic_ns(),
    )


def _spoilt(result: CaseResult, warning: str) -> CaseResult:
    result = msgspec.structs.replace(result, warnings=(*result.warnings, warning))
    if result.verdict is Verdict.FAIL:
        return result
    nothing: tuple[Failure, ...] = ()
    return msgspec.structs.replace(
        result, verdict=Verdict.INCONCLUSIVE, reason=Reason("client", warning), failures=nothing
    )


def _last(history: Path) -> Iterator[Evidence]:
    """What was asked last, as far as it came to the disk: all but the last second of it."""
    try:
        stored = History.open(history, allow_incomplete=True)
        rows = [row for table in ("operations", "exchanges") for row in stored.rows(table)]
    except (HistoryRefused, OSError, ValueError):
        return  # it was cut short before anything was written
    start = stored.title.started_ns
    asked = [row for row in rows if isinstance(row, Operation | Exchange)]
    for row in sorted(asked, key=lambda row: row.call_ns)[-LAST:]:
        if isinstance(row, Exchange):
            what, text = str(row.api), f"v{row.version}  to node {row.node}"
        else:
            what, text = row.kind, f"{row.topic}-{row.partition}  by {row.client}"
        yield Evidence(what, text, outcome=str(getattr(row, "outcome", "")), at_s=(row.call_ns - start) / 1e9)


def _ended(crashes: int, interrupted: bool, announced: RunStarted, found: list[CaseResult]) -> str:
    judged = {result.case for result in found}
    left = sum(info.case not in judged for info in announced.cases)
    rest = f": {left} of {len(announced.cases)} cases were not run" if left else ""
    if interrupted:
        return f"interrupted, and the client library crashed meanwhile{rest}"
    return f"the client library crashed {crashes} times{rest}" if crashes >= MOST else ""
