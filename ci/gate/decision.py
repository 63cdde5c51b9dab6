"""May it be merged? A pure function of the results, the baseline, the last good run and the policy.

Each objection has an exit status; the worst is that of the gate. Without any the gate is green. With the policy that
is in force when none is given, and no last run, the status is that of `brokertrial run --known`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.gate.changes import Changes
from brokertrial.ci.gate.policy import Policy
from brokertrial.ci.reports.known import KnownFailures, StaleEntry
from brokertrial.ci.reports.tally import Tally
from brokertrial.suites.exit_status import ExitStatus, is_ours, is_untried, worst
from brokertrial.suites.result import CaseResult

NAMED = 5
"""So many cases are named in one sentence."""


@dataclass(frozen=True)
class Objection:
    """One reason why the gate is not green."""

    status: ExitStatus
    sentence: str
    brief: str
    """The same in a few words, without the names of cases."""


@dataclass(frozen=True)
class Decision:
    """What the gate decided, and everything that it rests on."""

    status: ExitStatus
    tally: Tally
    objections: tuple[Objection, ...] = ()
    notes: tuple[str, ...] = ()
    """What was let through, in words: nothing is left unsaid."""
    new: tuple[CaseResult, ...] = ()
    """What failed and blocks, and has no entry in the baseline; one with an entry that expired is under `expired`."""
    mended: tuple[StaleEntry, ...] = ()
    expired: tuple[StaleEntry, ...] = ()
    changes: Changes = field(default_factory=Changes)

    @property
    def is_green(self) -> bool:
        return self.status == ExitStatus.PASSED

    @property
    def meaning(self) -> str:
        """What the exit status says of this gate: the objections that led to it, in a few words."""
        briefs = [one.brief for one in self.objections if one.status == self.status]
        return "; ".join(briefs) or self.status.meaning

    @property
    def blocks_inconclusive(self) -> bool:
        """Whether inconclusive cases are a reason why the gate is not green."""
        return any(one.status in (ExitStatus.INCONCLUSIVE, ExitStatus.INTERNAL) for one in self.objections)


def decide(
    results: Sequence[CaseResult],
    known: KnownFailures,
    policy: Policy,
    today: date,
    *,
    last: Iterable[CaseResult] | None = None,
    ended: ExitStatus = ExitStatus.PASSED,
    error: str = "",
) -> Decision:
    """The decision. `ended` is what the end of the run says beyond its results (`unexplained`), `error` why."""
    tally = Tally.of(results, known, today, policy.blocks)
    changes = Changes() if last is None else Changes.between(last, results)
    expired = tuple(stale for stale in tally.stale if stale.entry.expired(today))
    mended = tuple(stale for stale in tally.stale if stale not in expired)
    new = tuple(result for result in tally.failed if known.unheard_of(result))
    objections = [
        *_ended(ended, error),
        *_failed(new, changes),
        *_entries("expired", expired, "renew or remove", known),
        *(_entries("mended", mended, "remove", known) if policy.mended == "block" else ()),
        *(_lost(changes.lost) if policy.lost == "block" else ()),
        *_undecided(tally, policy),
    ]
    if not _decided_any(tally) and all(one.status == ExitStatus.FAILED for one in objections):
        objections.append(_nothing())
    status = worst(each.status for each in objections) if objections else ExitStatus.PASSED
    notes = tuple(_notes(tally, policy, changes, mended))
    return Decision(status, tally, tuple(objections), notes, new, mended, expired, changes)


def unexplained(status: int, results: Collection[CaseResult]) -> ExitStatus:
    """What the exit status of a run says that its results do not: it was interrupted, ended early, or came to nothing.

    `status` is the one before known failures are taken into account.
    """
    if status in (ExitStatus.INTERRUPTED, ExitStatus.USAGE, ExitStatus.NOT_READY):
        return ExitStatus(status)
    unclear = [each for each in results if each.verdict is Verdict.INCONCLUSIVE]
    if status == ExitStatus.INTERNAL and not any(map(is_ours, unclear)):
        return ExitStatus.INTERNAL
    if status == ExitStatus.INCONCLUSIVE and not unclear and not any(map(is_untried, results)):
        return ExitStatus.INCONCLUSIVE
    return ExitStatus.PASSED


def counted(count: int, what: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{count} {what}{'s' * (count != 1)}"


def named(cases: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    names = list(dict.fromkeys(cases))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _ended(ended: ExitStatus, error: str) -> Iterable[Objection]:
    if ended != ExitStatus.PASSED:
        yield Objection(ended, f"{ended.meaning}: {error}" if error else ended.meaning, ended.meaning)


def _failed(new: Sequence[CaseResult], changes: Changes) -> Iterable[Objection]:
    if new:
        since = [result for result in new if result in changes.broken]
        passed = f" ({len(since)} of them passed in the last good run)" if since else ""
        yield _about(ExitStatus.FAILED, counted(len(new), "new failure"), new, passed)


def _entries(what: str, stale: Sequence[StaleEntry], do: str, known: KnownFailures) -> Iterable[Objection]:
    if stale:
        lines: dict[str, list[str]] = {}
        for each in stale:
            lines.setdefault(each.entry.case, []).append(str(each.entry.line))
        places = named(f"{case} (line {', '.join(at)})" for case, at in lines.items())
        entries = f"{len(stale)} {what} {'entries' if len(stale) > 1 else 'entry'} in {known.path}"
        yield Objection(ExitStatus.FAILED, f"{entries}: {do} {places}", entries)


def _lost(lost: Sequence[CaseResult]) -> Iterable[Objection]:
    if lost:
        count = counted(len(lost), "case")
        what = f"{count} passed in the last good run and cannot be judged any more"
        yield Objection(ExitStatus.FAILED, f"{what}: {named(result.case for result in lost)}", f"{count} lost")


def _undecided(tally: Tally, policy: Policy) -> Iterable[Objection]:
    ours = [result for result in tally.inconclusive if is_ours(result)]
    theirs = [result for result in tally.inconclusive if not is_ours(result)]
    if ours:
        yield _about(ExitStatus.INTERNAL, f"{counted(len(ours), 'case')} met an internal error of the suite", ours)
    if len(theirs) > policy.inconclusive:
        allowed = f"; the policy tolerates {policy.inconclusive}" if policy.inconclusive else ""
        yield _about(ExitStatus.INCONCLUSIVE, counted(len(theirs), "inconclusive case"), theirs, allowed)
    if tally.untried:
        what = f"{counted(len(tally.untried), 'case')} not tried, for the target takes no record"
        yield Objection(ExitStatus.INCONCLUSIVE, what, what)
    if _decided_any(tally) and tally.decided_percent < policy.min_decided:
        what = f"{tally.decided_percent:.1f} % of the musts were decided; {policy.min_decided:g} % are asked for"
        yield Objection(ExitStatus.INCONCLUSIVE, what, "too few musts decided")


def _about(status: ExitStatus, what: str, results: Sequence[CaseResult], more: str = "") -> Objection:
    return Objection(status, f"{what}{more}: {named(result.case for result in results)}", what)


def _decided_any(tally: Tally) -> bool:
    return bool(tally.passed or tally.failed or tally.known) or any(not result.only_warns for result in tally.warned)


def _nothing() -> Objection:
    meaning = ExitStatus.NOTHING_JUDGED.meaning
    return Objection(ExitStatus.NOTHING_JUDGED, meaning, meaning)


def _notes(tally: Tally, policy: Policy, changes: Changes, mended: Sequence[StaleEntry]) -> Iterable[str]:
    theirs = [result for result in tally.inconclusive if not is_ours(result)]
    if theirs and len(theirs) <= policy.inconclusive:
        what = f"{counted(len(theirs), 'inconclusive case')} tolerated (the policy allows {policy.inconclusive})"
        yield f"{what}: {named(result.case for result in theirs)}"
    if tally.known:
        yield f"{counted(len(tally.known), 'known failure')}: {named(result.case for result in tally.known)}"
    if tally.warned:
        what = "failure that does not block" if len(tally.warned) == 1 else "failures that do not block"
        yield f"{len(tally.warned)} {what}: {named(result.case for result in tally.warned)}"
    if changes.mended:
        yield f"mended since the last good run: {named(result.case for result in changes.mended)}"
    if mended and policy.mended == "warn":
        yield f"mended, to be removed from the baseline: {named(each.entry.case for each in mended)}"
    if changes.lost and policy.lost == "warn":
        yield f"not judged any more since the last good run: {named(result.case for result in changes.lost)}"
    if changes.not_run:
        count = counted(len(changes.not_run), "case")
        yield f"{count} of the last good run not run this time: {named(changes.not_run)}"
