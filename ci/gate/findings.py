"""What a CI system is to show, one row a finding: annotations, SARIF and code quality are made from these.

A failure has the rule of its guarantee; what is wrong with the baseline, or was not decided, has a rule of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from brokertrial.ci.gate.decision import Decision
from brokertrial.ci.gate.policy import Policy
from brokertrial.ci.reports.causes import HarmKind, ways_of
from brokertrial.ci.reports.known import KnownFailure, KnownFailures
from brokertrial.suites.result import CaseResult

Kind = Literal["new", "known", "warning", "inconclusive", "lost", "mended", "expired", "ended"]
RULES: dict[str, str] = {
    "inconclusive": "A case came to no verdict: the broker was neither cleared nor convicted.",
    "lost": "A case that passed in the last good run cannot be judged any more.",
    "mended": "An entry of the baseline whose case passes now: remove it.",
    "expired": "An entry of the baseline whose day has come: renew or remove it.",
    "ended": "The run did not come to its end.",
}
"""The rules that are no guarantee's."""
BEGIN = {"inconclusive": "no verdict", "lost": "passed in the last good run and cannot be judged now"}
"""How the sentence of such a case begins; its reason follows."""


@dataclass(frozen=True)
class Finding:
    """One thing to show. `line` is that of the entry in the baseline, 1 where it has none."""

    kind: Kind
    blocks: bool
    case: str
    rule: str
    sentence: str
    name: str
    """Stable over runs: the signature of the failure, or the kind."""
    cause: str = ""
    harm: HarmKind | None = None
    line: int = 1
    accepted: str = ""
    """Why it is known."""

    @property
    def fingerprint(self) -> str:
        """The same for the same finding in another run."""
        return hashlib.sha256(f"{self.case}\n{self.name}".encode()).hexdigest()

    @property
    def level(self) -> Literal["error", "warning", "note"]:
        """What blocks is an error; what is known is a note."""
        return "error" if self.blocks else "note" if self.kind == "known" else "warning"


def findings(decision: Decision, known: KnownFailures, policy: Policy) -> list[Finding]:
    """All of them, what blocks first, the most harmful first."""
    tally, expired = decision.tally, {stale.entry for stale in decision.expired}
    failed: dict[Kind, list[CaseResult]] = {"new": tally.failed, "known": tally.known, "warning": tally.warned}
    found = [
        finding for kind, some in failed.items() for each in some for finding in _failures(each, kind, known, expired)
    ]
    told = {(finding.case, finding.line) for finding in found if finding.kind == "expired"}
    blocks = decision.blocks_inconclusive
    found += [_without_verdict(result, "inconclusive", blocks) for result in tally.inconclusive]
    found += [_without_verdict(result, "lost", policy.lost == "block") for result in decision.changes.lost]
    found += [_entry(stale.entry, "mended", policy.mended == "block", stale.why) for stale in decision.mended]
    silent = [stale for stale in decision.expired if (stale.entry.case, stale.entry.line) not in told]
    found += [_entry(stale.entry, "expired", True, stale.why) for stale in silent]
    if not found and not decision.is_green:
        sentence = "; ".join(objection.sentence for objection in decision.objections)
        found = [Finding("ended", True, "brokertrial", "ended", sentence, "ended")]
    return sorted(found, key=lambda one: (not one.blocks, one.harm or HarmKind.MISSING))


def _failures(
    result: CaseResult, kind: Kind, known: KnownFailures, expired: Collection[KnownFailure]
) -> Iterator[Finding]:
    """A failure with an entry is `known` or `expired`, whatever else is wrong in its case."""
    entries = sorted(known.reasons(result), key=lambda entry: entry in expired)
    for cause, failure, harm in ways_of(result):
        entry = next((each for each in entries if each.names(failure)), None)
        mine: Kind = kind if entry is None else "expired" if entry in expired else "known"
        sentence = failure.sentence or result.statement
        if entry and mine == "expired":
            sentence = f"{sentence.rstrip('.')}. Its entry expired on {entry.expires}: renew or remove it."
        yield Finding(
            mine,
            mine in ("new", "expired"),
            result.case,
            result.guarantees[0] if result.guarantees else result.case,
            sentence,
            failure.signature,
            cause,
            harm,
            entry.line if entry else 1,
            entry.reason if entry else "",
        )


def _without_verdict(result: CaseResult, kind: Kind, blocks: bool) -> Finding:
    reason = result.reason.sentence if result.reason else result.statement
    return Finding(kind, blocks, result.case, kind, f"{BEGIN[kind]}: {reason}", kind)


def _entry(entry: KnownFailure, kind: Kind, blocks: bool, why: str) -> Finding:
    do = "renew or remove" if kind == "expired" else "remove"
    sentence = f"{why[0].upper()}{why[1:]}: {do} the entry, which is for {entry.failure}"
    return Finding(kind, blocks, entry.case, kind, sentence, f"{kind}:{entry.failure}", line=entry.line)
