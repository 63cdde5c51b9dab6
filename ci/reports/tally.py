"""From the results of a run to its exit status, and to the last line that counts every verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports.known import KnownFailures, StaleEntry
from brokertrial.suites.exit_status import ExitStatus, is_ours, is_untried
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.claims import NAMES_BEGIN

SAID_ONCE = {"disclaimed": "disclaimed", "no-permission": "no permission"}
"""Reasons that are one decision of somebody, whatever the number of cases: the last line names what they are about."""
WORDS = {
    Verdict.PASS: "passed",
    Verdict.FAIL: "failed",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_APPLICABLE: "not applicable",
}


@dataclass(frozen=True)
class Tally:
    """The results of a run, sorted by what they mean for it."""

    passed: list[CaseResult] = field(default_factory=list)
    failed: list[CaseResult] = field(default_factory=list)
    known: list[CaseResult] = field(default_factory=list)
    warned: list[CaseResult] = field(default_factory=list)
    inconclusive: list[CaseResult] = field(default_factory=list)
    not_applicable: list[CaseResult] = field(default_factory=list)
    stale: list[StaleEntry] = field(default_factory=list)
    known_file: str = ""
    """The name of the file with the known failures."""

    @classmethod
    def of(
        cls,
        results: Sequence[CaseResult],
        known: KnownFailures | None = None,
        today: date | None = None,
        blocks: Callable[[CaseResult], bool] = lambda failed: failed.is_failure,
    ) -> Tally:
        """Sorts results; only what `blocks` and is not known is a failure of the run: by default a failed `must`."""
        known, today = known or KnownFailures(), today or local_day()
        tally = cls(stale=known.stale(results, today), known_file=Path(known.path).name)
        for result in results:
            tally._place(result, known, today, blocks).append(result)
        return tally

    def _place(
        self, result: CaseResult, known: KnownFailures, today: date, blocks: Callable[[CaseResult], bool]
    ) -> list[CaseResult]:
        if result.verdict is Verdict.PASS:
            return self.passed
        if result.verdict is Verdict.INCONCLUSIVE:
            return self.inconclusive
        if result.verdict is Verdict.NOT_APPLICABLE:
            return self.not_applicable
        if known.forgives(result, today):
            return self.known
        return self.failed if blocks(result) else self.warned

    def status(self, base: int = ExitStatus.PASSED) -> int:
        """The exit status. `base` is what the suite itself ended with: an interrupted run stays one."""
        if base not in (
            ExitStatus.PASSED,
            ExitStatus.FAILED,
            ExitStatus.INTERNAL,
            ExitStatus.NOTHING_JUDGED,
            ExitStatus.INCONCLUSIVE,
        ):
            return ExitStatus.FAILED if self.failed and base not in (ExitStatus.INTERRUPTED, ExitStatus.USAGE) else base
        if self.failed or self.stale:
            return ExitStatus.FAILED
        if base == ExitStatus.INTERNAL or any(map(is_ours, self.inconclusive)):
            return ExitStatus.INTERNAL
        if self.inconclusive or base == ExitStatus.INCONCLUSIVE or self.untried:
            return ExitStatus.INCONCLUSIVE
        warned = any(not result.only_warns for result in self.warned)
        return ExitStatus.PASSED if self.passed or self.known or warned else ExitStatus.NOTHING_JUDGED

    def line(self) -> str:
        """Every verdict counted, the ones that are neither green nor red split by reason."""
        parts = [f"{len(self.passed)} passed", f"{len(self.failed)} failed"]
        if self.known:
            parts.append(_counted(len(self.known), "known failure"))
        if self.warned:
            parts.append(_counted(len(self.warned), "warning"))
        parts.append(f"{len(self.inconclusive)} inconclusive{_by_reason(self.inconclusive)}")
        parts.append(f"{len(self.decided)} of {len(self.musts)} musts decided")
        parts.append(f"{len(self.not_applicable)} not applicable{_by_reason(self.not_applicable)}")
        if self.untried:
            parts.append(f"{_counted(len(self.untried), 'case')} not tried, for the target takes no record")
        if self.stale:
            parts.append(
                f"{len(self.stale)} stale {'entries' if len(self.stale) > 1 else 'entry'} in {self.known_file}"
            )
        if again := self.tried_again:
            parts.append(f"{again} case{'s' * (again > 1)} needed more than one attempt")
        once = [f"{word}: {', '.join(names)}" for word, names in self.said_once().items()]
        return "; ".join([", ".join(parts), *once])

    @property
    def musts(self) -> list[CaseResult]:
        """The cases that decide a `must`, each as it is written; what was promised and is not offered is no case."""
        told = (*self.passed, *self.failed, *self.known, *self.warned, *self.inconclusive, *self.not_applicable)
        musts = (result for result in told if result.level == "must" and "@" not in result.case)
        return [result for result in musts if not result.case.startswith(NAMES_BEGIN)]

    @property
    def decided(self) -> list[CaseResult]:
        """Those that passed or failed."""
        return [result for result in self.musts if result.verdict in (Verdict.PASS, Verdict.FAIL)]

    @property
    def decided_percent(self) -> float:
        """How many of the musts were decided; 100 where there was none to decide."""
        return 100 * len(self.decided) / len(self.musts) if self.musts else 100.0

    def not_applicable_by_reason(self) -> dict[str, int]:
        """Kind of reason -> number of cases, the most frequent first."""
        return dict(Counter(map(_kind, self.not_applicable)).most_common())

    def said_once(self) -> dict[str, list[str]]:
        """What the target disclaims, and what the suite was not permitted, wherever that took a case away."""
        found: dict[str, list[str]] = {}
        for kind, word in SAID_ONCE.items():
            told = [result.reason.sentence for result in self.not_applicable if result.reason and _kind(result) == kind]
            if told:
                found[word] = list(dict.fromkeys(sentence.removeprefix(f"{word}: ") for sentence in told))
        return found

    @property
    def untried(self) -> list[CaseResult]:
        """The cases that were kept back since the target takes no record, which the run may have been forgiven."""
        return [result for result in self.not_applicable if is_untried(result)]

    @property
    def tried_again(self) -> int:
        """How many cases came to their verdict only after an attempt that came to none."""
        lists = (self.passed, self.failed, self.known, self.warned, self.inconclusive, self.not_applicable)
        return sum(len(result.attempts) > 1 for results in lists for result in results)


def local_day() -> date:
    """Today where the user is: `expires` in known.toml is a day of theirs."""
    return datetime.now(UTC).astimezone().date()


def _kind(result: CaseResult) -> str:
    return result.reason.kind if result.reason else "no reason given"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count > 1)}"


def _by_reason(results: Iterable[CaseResult]) -> str:
    counts = Counter(_kind(result) for result in results)
    return f" ({', '.join(f'{kind} {count}' for kind, count in counts.most_common())})" if counts else ""
