"""The result of a case: what its attempts came to, with the level that it may accuse at and what the target logged."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Mapping, Sequence

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.clock import now_ns
from brokertrial.suites.case import Case
from brokertrial.suites.closing_look.promises import of_its_own
from brokertrial.suites.outcome import derived, inconclusive
from brokertrial.suites.proving.proof_record import proof_of
from brokertrial.suites.result import ONLY_WARNS, Attempt, CaseResult, Evidence, Failure, KafkaProof, LogLine, Outcome
from brokertrial.suites.running.attempts import severity
from brokertrial.suites.running.log_lines import folded
from brokertrial.suites.situations.pair_record import record
from brokertrial.suites.targets import Target

LOG_LINES_KEPT = 60
ALARMS_SHOWN = 5
PROOFS = threading.Lock()
"""Syntax trees are made for a proof; Python 3.11 fails in that when two threads do it."""


def result_of(
    case: Case,
    outcome: Outcome,
    attempts: Sequence[Attempt],
    *,
    target: Target,
    nodes: int,
    began: int,
    spent_ns: int,
    seed: int,
    facts: Mapping[str, str | int | float],
    only_proven_accuse: bool,
) -> CaseResult:
    """What the attempts at a case came to, the last of them with this seed; begun at `began`, ended now, between which
    they took `spent_ns`.

    `only_proven_accuse`: one that is not proven on Apache Kafka with so many nodes can only warn.
    """
    ended = now_ns()
    with PROOFS:
        proof = proof_of(case, nodes)
    level, warnings = severity(case.level, outcome), list(outcome.warnings)
    warnings += [f"node {line.node}: {line.text}" for line in target.alarms(began, ended)][:ALARMS_SHOWN]
    accuses = outcome.verdict is Verdict.FAIL and only_proven_accuse and level == "must" and not outcome.fatal
    if accuses and (why := _not_proven(case, proof, nodes)):
        level = "should"
        warnings.append(f"{why}: {ONLY_WARNS}")
    result = CaseResult.of(
        case,
        msgspec.structs.replace(outcome, warnings=tuple(warnings), failures=_failures(outcome)),
        level=level,
        attempts=attempts,
        seed=seed,
        started_ns=began,
        ended_ns=began + spent_ns,
        history=attempts[-1].history if attempts else "",
        facts=facts,
        log_lines=_log_lines(target, began, ended) if outcome.verdict is Verdict.FAIL else (),
        proof=proof,
    )
    return of_its_own(result)


def lost(case: Case, error: Exception) -> CaseResult:
    """The result of a case that a mistake of ours kept from its own; called where the mistake was caught."""
    trace = Evidence("exception", traceback.format_exc())
    return CaseResult.of(case, inconclusive("suite", f"{type(error).__name__}: {error}", (trace,)), started_ns=now_ns())


def _not_proven(case: Case, proof: KafkaProof | None, nodes: int) -> str:
    """Why a case may accuse nobody here; empty where it may."""
    if case.situation is not None:
        return record().why_not_accused(case, case.situation, nodes)
    if proof is None:
        return "this case, as it is now, has not been proven on Apache Kafka"
    if not proof.speaks_of(nodes):
        return f"this case has been {proof.sentence}, never on {'several nodes' if nodes > 1 else 'one node'}"
    return ""


def _failures(outcome: Outcome) -> tuple[Failure, ...]:
    """What was false, listed by whoever found it."""
    return (outcome.failures or derived(outcome.reason, outcome.anomalies)) if outcome.verdict is Verdict.FAIL else ()


def _log_lines(target: Target, began: int, ended: int) -> tuple[LogLine, ...]:
    lines = (LogLine(line.node, line.text, (line.ns - began) / 1e9) for line in target.log_lines(began, ended))
    return tuple(folded(lines)[-LOG_LINES_KEPT:])
