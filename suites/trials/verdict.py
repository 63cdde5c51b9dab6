"""The verdict on a trial, from its history alone: live and in `check` this is the same code on the same files."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.judge import Judgement, judge
from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.reader import History
from brokertrial.histories.rows import Event, Membership, Operation
from brokertrial.histories.windows import FaultWindow, fault_windows
from brokertrial.suites.case import Case
from brokertrial.suites.outcome import HANGING, failed, inconclusive, of_anomalies
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.promptness import SLOW, is_slow, said_of
from brokertrial.suites.probe.target_condition import gone
from brokertrial.suites.result import NO_PROGRESS, Evidence, Outcome, Reason
from brokertrial.suites.trials.facts import KIND, TrialFacts
from brokertrial.suites.trials.late_reassignment import late_reassignments
from brokertrial.suites.trials.observations import Counts, observed, spans, told, undecided
from brokertrial.suites.workloads.context import ASSIGNED

JudgeFunction = Callable[[History, Collection[str] | None], Judgement]
"""Puts the named checks, or all, to a history: `checkers.judge.judge`, or the same on another engine."""

SHOWN_ANOMALIES = 3
SHOWN_STUCK = 3
UNDISTURBED = "Before any fault"
LAG_MS = 50.0


def judged(case: Case, history: History, put: JudgeFunction | None = None) -> Outcome:
    """Anomalies fail it; then what withholds a pass; then it passes. `put`: see Put."""
    events = [event for event in history.rows("events") if isinstance(event, Event)]
    seen = _conclusion(events)
    if seen is None:
        return inconclusive("history", "the trial did not complete: its history has no final facts")
    try:
        found = _judgement(history, put or judge)
    except Exception as error:  # noqa: BLE001 - a checker that fails says nothing about the broker
        trace = Evidence("exception", traceback.format_exc())
        return inconclusive("suite", f"a checker failed: {type(error).__name__}: {error}", (trace,))
    windows = fault_windows(events, history.header.schedule)
    counts = observed(history, spans(events, windows), found.judged)
    facts = _facts(history, windows, seen, found) | {"observations": told(counts)}
    outcome = seen.condition.upon(_verdict(case, history, seen, found, facts, counts))
    warnings = outcome.warnings
    if seen.lag_ms > LAG_MS:
        warnings += (f"the event loop of the proxy lagged by {seen.lag_ms:.0f} ms: timing checks were skipped",)
    warnings += tuple(f"a client library call never returned: {call}" for call in seen.hung)
    return msgspec.structs.replace(
        outcome,
        permitted=tuple(found.listed),
        facts=facts,
        warnings=warnings,
        schedule=msgspec.json.encode(history.header.schedule).decode(),
    )


def _verdict(
    case: Case,
    history: History,
    seen: TrialFacts,
    found: Judgement,
    facts: dict[str, str | int | float],
    counts: Counts,
) -> Outcome:
    guilty = [anomaly for anomaly in found.anomalies if anomaly.attribution == "broker" and _stands(anomaly, seen)]
    guilty += [anomaly for anomaly in (_hanging(seen),) if anomaly is not None]
    late = [anomaly for anomaly in (_no_progress(case, seen),) if anomaly is not None]
    late += _late_takeovers(case, history, seen)
    if not is_slow(seen.latency_ms):
        guilty += late
    if guilty:
        sentence = guilty[0].sentence if len(guilty) == 1 else f"{guilty[0].sentence} ({len(guilty)} anomalies in all)"
        return Outcome(
            Verdict.FAIL,
            Reason("anomaly", sentence),
            tuple(_evidence(history, guilty)),
            tuple(guilty),
            failures=of_anomalies(guilty),
        )
    for place, why in seen.malformed.items():
        return failed("protocol", f"{why.sentence} (the final read of {place})", why.evidence)
    if seen.died and not seen.failed_windows:
        return _gone(history, "a node crashed while no fault was active on a node")
    if not seen.alive and not seen.unhealed:
        return _gone(history, "a node crashed after the faults were healed")
    if late:
        reason = Reason(SLOW, f"{late[0].sentence} But {said_of(seen.latency_ms)}")
        return Outcome(Verdict.INCONCLUSIVE, reason, anomalies=tuple(late))
    for reason in _withheld(history, seen, found, facts):
        return Outcome(Verdict.INCONCLUSIVE, reason, anomalies=tuple(found.anomalies))
    needed = history.header.settings.get("observations", 0)
    faulty = bool((history.header.schedule or {}).get("windows"))
    if needed and (lack := undecided(case.guarantees, found, counts, needed, faulty)) is not None:
        return Outcome(Verdict.INCONCLUSIVE, Reason("unobserved", lack), anomalies=tuple(found.anomalies))
    return Outcome(Verdict.PASS)


def _gone(history: History, sentence: str) -> Outcome:
    """A node is dead: where somebody else may have stopped it, it is its own doing only at the second time."""
    if scene := history.header.settings.get("scene"):
        context = msgspec.convert(scene, CaseContext)
        found = gone(context.capabilities, context.went_away)
        if found.kind == "away":
            return found.upon(Outcome(Verdict.PASS))
    return failed("died", sentence)


def _withheld(
    history: History, seen: TrialFacts, found: Judgement, facts: dict[str, str | int | float]
) -> Iterator[Reason]:
    """What stands between this trial and a pass, the gravest first."""
    if seen.unended:  # its records would look like those of nobody
        meanwhile = "; a fresh connection made progress" if (seen.stuck or seen.behind) and not seen.fresh else ""
        yield Reason("client", f"{seen.unended[0]}: its operations are not fully recorded{meanwhile}")
    if seen.problems:
        yield Reason("suite", seen.problems[0])
    if seen.failed_windows:
        window, why = next(iter(seen.failed_windows.items()))
        yield Reason("suite", f"fault {window} could not be started: {why}")
    if seen.unhealed:
        window, why = next(iter(seen.unhealed.items()))
        yield Reason("unhealed", f"fault {window} could not be healed: {why}")
    if seen.leaks:
        yield Reason("leak", f"a client bypassed the proxy: {seen.leaks[0]}")
    if others := [anomaly for anomaly in found.anomalies if anomaly.attribution != "broker"]:
        yield Reason("client", f"the evidence implicates the client library, not the broker: {others[0].sentence}")
    if seen.sighted and not found.anomalies:
        yield Reason("suite", f"the load ended early for {seen.sighted}, and no check finds it")
    if seen.stuck or seen.behind:
        what = _few(seen.stuck or seen.behind)
        yield Reason("client", f"the client library hangs: no progress with {what}, although new clients succeeded")
    if missed := [window for window, hits in seen.hits.items() if hits == 0]:
        yield Reason("no-hit", f"fault {missed[0]} was scheduled but never triggered")
    if seen.unread:
        place, why = next(iter(seen.unread.items()))
        yield Reason("final-read-incomplete", f"the final read of {place} is incomplete: {why}")
    if not seen.warm or seen.acked < history.header.settings.get("length", 0):
        yield Reason("too-few-operations", f"only {seen.acked} operations were acknowledged")
    if (given := _assignments(history)) < history.header.settings.get("assignments", 0):
        yield Reason("too-few-operations", f"members were given partitions only {given} times")
    faulty = bool((history.header.schedule or {}).get("windows"))
    if faulty and _during(facts) < history.header.settings.get("during_faults", 0):
        yield Reason(
            "too-few-operations", f"only {_during(facts)} operations that were invoked during a fault were acknowledged"
        )
    if found.inconclusive:
        check, why = next(iter(found.inconclusive.items()))
        yield Reason("checks-inconclusive", f"{check}: {why}")


def _stands(anomaly: Anomaly, seen: TrialFacts) -> bool:
    """Whether the proof holds whatever a client may have done that is not in the history."""
    return not seen.unended or anomaly.stands_alone


def _judgement(history: History, put: JudgeFunction) -> Judgement:
    """All checks, and those that the trial asked for by name."""
    found = put(history, None)
    if named := history.header.settings.get("checks"):
        more = put(history, named)
        found.anomalies += more.anomalies
        found.permitted += more.permitted
        found.totals |= more.totals
        found.not_applicable |= more.not_applicable
        found.inconclusive |= more.inconclusive
        found.judged += more.judged
    return found


def _no_progress(case: Case, seen: TrialFacts) -> Anomaly | None:
    """Healed, alive, and even a fresh connection around the proxy gets nowhere: that is the broker's."""
    if not seen.fresh or seen.unhealed or seen.failed_windows or not seen.alive:
        return None
    what = _few(seen.stuck or seen.behind)
    since = "After the heal" if seen.warm else UNDISTURBED
    return Anomaly(
        name=NO_PROGRESS,
        guarantee=case.guarantees[0],
        topic=None,
        partition=None,
        offsets=(),
        values=(),
        operations=(),
        strength="recency",
        attribution="broker",
        sentence=f"{since} there was no progress with {what}, and {seen.fresh}",
    )


def _few(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN_STUCK} more" if len(names) > SHOWN_STUCK else ""
    return ", ".join(names[:SHOWN_STUCK]) + more


def _hanging(seen: TrialFacts) -> Anomaly | None:
    """Every transaction was ended or has timed out, and still one holds the last stable offset back."""
    if not seen.hanging or seen.unread or seen.unhealed:
        return None
    place, why = next(iter(seen.hanging.items()))
    topic, _, partition = place.rpartition("-")
    return Anomaly(
        name=HANGING,
        guarantee="txn-001",
        topic=topic,
        partition=int(partition),
        offsets=(),
        values=(),
        operations=(),
        strength="durability",
        attribution="broker",
        sentence=f"All transactions ended or timed out, but {place} still has an open one: {why}.",
    )


def _late_takeovers(case: Case, history: History, seen: TrialFacts) -> list[Anomaly]:
    """Nothing is said about times where the proxy itself was late."""
    within_s = history.header.settings.get("takeover_s", 0)
    if not within_s or seen.lag_ms > LAG_MS:
        return []
    windows = fault_windows(history.rows("events"), history.header.schedule)
    owned = [row for row in history.rows("memberships") if isinstance(row, Membership)]
    return list(late_reassignments(case.guarantees[0], windows, within_s, owned))


def _conclusion(events: list[Event]) -> TrialFacts | None:
    for event in reversed(events):
        if event.kind == KIND and event.fields is not None:
            return msgspec.convert(msgspec.json.decode(event.fields)["seen"], TrialFacts)
    return None


def _assignments(history: History) -> int:
    return sum(isinstance(event, Event) and event.kind == ASSIGNED for event in history.rows("events"))


def _during(facts: dict[str, str | int | float]) -> int:
    return int(facts.get("during_faults", 0))


def _facts(
    history: History, windows: list[FaultWindow], seen: TrialFacts, found: Judgement
) -> dict[str, str | int | float]:
    """The numbers beside a verdict."""
    table = history.arrow("operations").select(["op", "call_ns", "return_ns", "outcome", "kind"])
    calls = table.column("call_ns").to_numpy()
    active = np.zeros(len(calls), dtype=bool)
    for window in windows:
        active |= (calls >= window.begin_ns) & (calls <= window.end_ns)
    mine = np.isin(table.column("kind").to_numpy(zero_copy_only=False), ["send", "commit", "committed", "begin"])
    acked = np.equal(table.column("outcome").to_numpy(zero_copy_only=False), "ok")
    returned = table.column("return_ns").to_numpy(zero_copy_only=False).astype(float)
    facts: dict[str, str | int | float] = {
        "acknowledged": seen.acked,
        "operations": int(mine.sum()),
        "during_faults": len(np.unique(table.column("op").to_numpy()[active & mine & acked])),
        "longest_pause_s": round(longest_pause_s(returned[mine & acked]), 3),
        "proxy_lag_ms": round(seen.lag_ms, 3),
        "latency_ms": round(seen.latency_ms, 3),
        "checks": ", ".join(found.judged),
    }
    if seen.sighted:
        facts["ended_early"] = seen.sighted
    return facts | {f"hits of {window}": count for window, count in seen.hits.items()}


def longest_pause_s(returned_ns: npt.NDArray[np.float64]) -> float:
    """The longest time between two of these moments; NaN is a call that never returned."""
    moments = np.sort(returned_ns[~np.isnan(returned_ns)])
    return float(np.max(np.diff(moments)) / 1e9) if len(moments) > 1 else 0.0


def _evidence(history: History, guilty: list[Anomaly]) -> Iterator[Evidence]:
    """The operations that prove the first anomalies, and the faults around them, in the order of time."""
    wanted = {op for anomaly in guilty[:SHOWN_ANOMALIES] for op in anomaly.operations}
    lines: list[tuple[int, Evidence]] = []
    start = history.title.started_ns
    for row in history.rows("operations"):
        assert isinstance(row, Operation)
        if row.op in wanted:
            lines.append((row.call_ns, _line(row, start)))
    for window in fault_windows(history.rows("events"), history.header.schedule):
        edges = [("fault", window.text or window.id, window.begin_ns), ("healed", window.id, window.healed_ns)]
        for what, text, at_ns in edges:
            if at_ns is not None:
                lines.append((at_ns, Evidence(what, text, at_s=(at_ns - start) / 1e9, window=window.id)))
    yield from (line for _, line in sorted(lines, key=lambda pair: pair[0]))


def _line(row: Operation, start: int) -> Evidence:
    parts = [f"group {row.group}"] if row.group else []
    parts += [f"{row.topic}-{row.partition}"] if row.topic is not None else []
    offset = row.base_offset if row.base_offset is not None else row.committed_offset
    parts += [f"offset {offset}"] if offset is not None else []
    parts += [f"transaction {row.txn}"] if row.txn is not None else []
    parts.append(f"by {row.client}")
    return Evidence(row.kind, "  ".join(parts), outcome=row.outcome, at_s=(row.call_ns - start) / 1e9, op=row.op)
