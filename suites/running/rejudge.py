"""Judges a stored case again, without a broker: the tape is played to a wire case, the checks are put to a trial."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.header import HistoryRefused
from brokertrial.histories.reader import History
from brokertrial.suites.case import Case
from brokertrial.suites.closing_look.look import closing_look
from brokertrial.suites.closing_look.promises import of_its_own
from brokertrial.suites.outcome import inconclusive
from brokertrial.suites.probe.cluster_settings import ClusterSettings
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.default_topics import DefaultTopicsProbe
from brokertrial.suites.probe.exchanger import TranscriptEntry
from brokertrial.suites.probe.failures import TranscriptMismatch
from brokertrial.suites.probe.naming import shortened
from brokertrial.suites.probe.nodes import MEMORY
from brokertrial.suites.probe.replay import ReplayExchanger
from brokertrial.suites.probe.run_case import Situate, attempt
from brokertrial.suites.probe.target_condition import WELL
from brokertrial.suites.probe.transcript import read_transcript
from brokertrial.suites.proving.proof_record import proof_of
from brokertrial.suites.result import CaseResult, Evidence, Outcome, Reason
from brokertrial.suites.running.attempts import attempt_of, severity
from brokertrial.suites.running.fresh_start import NOT_ITS_OWN
from brokertrial.suites.situations import situation_of
from brokertrial.suites.situations.pairs import case_named
from brokertrial.suites.targets.effects import OUT_OF_REACH

if TYPE_CHECKING:
    from brokertrial.suites.trials.verdict import JudgeFunction


class NotOurs(HistoryRefused):
    """A history that names no case of this suite."""


def can_be_judged_again(before: CaseResult) -> bool:
    """Whether a history says enough: not where only the run could see what decided, a fault that did not reach the
    broker, or a node that did not start again once the case was over."""
    why = before.reason
    return why is None or not (why.kind == OUT_OF_REACH or why.sentence.startswith(NOT_ITS_OWN))


def judge_stored(folder: Path | str, put: JudgeFunction | None = None) -> CaseResult:
    """The verdict on a stored history; raises HistoryRefused (one sentence) when it must not be judged at all.

    `put` puts the checks of a trial to it, in place of DuckDB.
    """
    history = History.open(Path(folder))
    case = _case_of(history)
    outcome = _wire(case, history) if case.kind == "wire" else _trial(case, history, put)
    header = history.header
    started_ns = history.title.started_ns
    result = CaseResult.of(
        case,
        outcome,
        level=severity(case.level, outcome),
        attempts=(attempt_of(outcome, header.seed, str(folder)),),
        seed=header.seed,
        started_ns=started_ns,
        ended_ns=history.title.closed_ns or started_ns,
        history=str(folder),
        proof=proof_of(case, header.nodes or 0),
    )
    return of_its_own(result)


def _case_of(history: History) -> Case:
    case = case_named(history.header.case)
    if case is None:
        raise NotOurs(
            f"{history.folder} holds the case {history.header.case!r}, which is none of this suite, of the "
            "packages that are installed here, nor of a folder given by --cases."
        )
    return case


def _wire(case: Case, history: History) -> Outcome:
    case_context = msgspec.convert(_settings(history)["scene"], CaseContext)
    tape = list(read_transcript(history))
    exchanger = ReplayExchanger(tape)
    addresses = int(_settings(history).get("addresses", 1))  # a refused one is followed by the next: so on the tape
    wire = DefaultTopicsProbe(exchanger, case_context, [("", 0)] * addresses)
    wire.set_up = msgspec.convert(_settings(history).get("set_up", {}), ClusterSettings)
    try:
        watched = _settings(history).get("watched", False)
        condition = (lambda: WELL) if watched else None
        nodes = measured_nodes(tape)
        outcome = attempt(case, wire, exchanger, nodes, lambda: True, condition, closing_look, _situate(case))
    except TranscriptMismatch as mismatch:
        return _changed(case, history, str(mismatch))
    if exchanger.left and outcome.reason is None:
        return _changed(case, history, f"{exchanger.left} entries of the history were not asked for")
    return outcome


class _Gone:
    """Stands for a node that was a process of ours: what was done to it, and what it held, is on the tape."""

    pid = None

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a case that is played back wants `{name}` of a node")


def measured_nodes(tape: Iterable[TranscriptEntry]) -> dict[int, Any]:
    """The nodes whose memory was measured: a case asks for those that were processes of ours."""
    acts = (entry.connection.split(" ") for entry in tape if entry.kind == "action")
    return {int(words[1]): _Gone() for words in acts if words[0] == MEMORY and len(words) == 2}


def _situate(case: Case) -> Situate | None:
    if (draw := case.situation) is None:
        return None
    return lambda wire: situation_of(draw, case.plain_id, wire, lambda act: act)


def _trial(case: Case, history: History, put: JudgeFunction | None) -> Outcome:
    from brokertrial.checkers.linearizability.crosscheck import (
        cross_checks,  # the checkers bring a database along; wire cases need none
    )
    from brokertrial.suites.trials.verdict import judged

    outcome = shortened(judged(case, history, put), _settings(history).get("named", {}))
    said = dict.fromkeys(opinion.sentence for opinion in cross_checks(history, outcome.anomalies))
    lines = tuple(Evidence("cross-check", sentence) for sentence in said)
    return msgspec.structs.replace(outcome, evidence=(*outcome.evidence, *lines))


def _changed(case: Case, history: History, why: str) -> Outcome:
    """The history was recorded by another text of the case, or was edited with its checksums."""
    if _settings(history).get("content") != case.content_hash:
        why = f"the case has changed since this was recorded ({why}); provoke it again"
        return Outcome(Verdict.INCONCLUSIVE, Reason("suite", why))
    return inconclusive("tampered", f"the history does not fit the case that recorded it: {why}")


def _settings(history: History) -> dict[str, Any]:
    return history.header.settings
