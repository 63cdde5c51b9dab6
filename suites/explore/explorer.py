"""The exploration: sequences side by side until the time is over, each new difference shrunk, then checked again."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import msgspec

from brokertrial.suites.explore.brokers import Brokers, SequenceDisturbed
from brokertrial.suites.explore.choices import Choices, Recorded, ReplayedChoices
from brokertrial.suites.explore.comparison import AnswerDifference
from brokertrial.suites.explore.finding import CHECKS, ShrunkDifference, finding_of, same_cause
from brokertrial.suites.explore.guidance import Guidance
from brokertrial.suites.explore.pair import MORE_PATIENCE, PATIENCE_S
from brokertrial.suites.explore.promises import broken_by
from brokertrial.suites.explore.sequence import SequenceOutcome
from brokertrial.suites.explore.shrink import shrunk
from brokertrial.suites.targets.base import TargetProblem

#: The last part of the time is for checking what was found.
CHECKING_SHARE, CHECKING_AT_MOST_S = 0.15, 120.0
#: Of a short run it is a larger part: three pairs of brokers have to start.
CHECKING_LEAST_S, CHECKING_LARGEST_SHARE = 30.0, 0.4
SHRINK_AT_MOST_S = 45.0
TELLS_EACH_S = 10.0
#: Requests that change nothing: after one that differs for a cause that is known already, a sequence goes on.
READS = frozenset(
    {
        "ApiVersions", "ConsumerGroupDescribe", "DescribeAcls", "DescribeClientQuotas", "DescribeCluster",
        "DescribeConfigs", "DescribeDelegationToken", "DescribeGroups", "DescribeLogDirs", "DescribeProducers",
        "DescribeQuorum", "DescribeShareGroupOffsets", "DescribeTopicPartitions", "DescribeTransactions",
        "DescribeUserScramCredentials", "FindCoordinator", "ListGroups", "ListOffsets", "ListPartitionReassignments",
        "ListTransactions", "Metadata", "OffsetFetch", "OffsetForLeaderEpoch", "ShareGroupDescribe",
        "StreamsGroupDescribe",
    }
)  # fmt: skip


#: What differs as a whole: nothing is known of the state then.
WHOLE = frozenset({"answer", "late", "process"})


@dataclass(frozen=True, slots=True)
class Exploration:
    """What to explore. `minutes` is the time for everything but starting the brokers the first time."""

    target: str
    oracle: str
    minutes: float
    seed: int
    only: frozenset[str] = frozenset()
    at_once: int = 4
    kept: tuple[Recorded, ...] = ()
    findings: int | None = None
    """After so many findings the exploration ends before its time."""
    checked: bool = True
    """Part of the time is kept for `check`."""


@dataclass(slots=True)
class Progress:
    """How far an exploration is."""

    seconds: float = 0.0
    sequences: int = 0
    requests: int = 0
    accepted: int = 0
    lost: int = 0
    """Sequences that came to nothing, for a connection failed."""
    reached: int = 0
    findings: int = 0
    asked: Counter[str] = field(default_factory=Counter)


class Explorer:
    """Explores on brokers that are there; `watch` is called about every ten seconds, and for each finding.

    `brokers` are for many threads at once; `alone`, where they are given, for one, whose sequences restart them.
    """

    def __init__(
        self,
        plan: Exploration,
        brokers: Brokers,
        database: Path,
        watch: Callable[[str], None],
        alone: Brokers | None = None,
    ) -> None:
        self._plan, self._database, self._watch = plan, database, watch
        self._lanes = [*[brokers] * plan.at_once, *([alone] if alone is not None else [])]
        self.guidance = Guidance(plan.seed, plan.kept)
        self.progress = Progress()
        self.findings: dict[str, ShrunkDifference] = {}
        self.not_again: Counter[str] = Counter()
        self._under_way: set[str] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._trouble: list[BaseException] = []
        self.lost: list[TargetProblem] = []
        """Why pairs of brokers were given up."""
        self._began = monotonic()
        seconds = 60 * plan.minutes
        self.ends = self._began + seconds
        least = min(CHECKING_LEAST_S, CHECKING_LARGEST_SHARE * seconds)
        checking = min(CHECKING_AT_MOST_S, max(least, CHECKING_SHARE * seconds)) if plan.checked else 0.0
        self._explores_until = self.ends - checking

    def run(self) -> None:
        """Explores until the time is over; KeyboardInterrupt ends it in order, and is raised again."""
        self._began = monotonic()
        threads = [threading.Thread(target=self._lane, args=(brokers,)) for brokers in self._lanes]
        for thread in threads:
            thread.start()
        said = self._began
        try:
            while any(thread.is_alive() for thread in threads):
                self._stop.wait(0.5)
                if monotonic() > said + TELLS_EACH_S:
                    said = monotonic()
                    self._watch(self._line())
                if monotonic() > self._explores_until:
                    self._stop.set()
                    for thread in threads:
                        thread.join()
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()
            self.progress.seconds = monotonic() - self._began
        if self._trouble:
            raise self._trouble[0]

    def check(self, fresh: Callable[[int], Brokers]) -> None:
        """Plays every finding on brokers that are fresh each time, until the time is over."""
        for number in range(1, CHECKS + 1):
            if not self.findings or monotonic() > self.ends:
                return
            try:
                with fresh(number) as brokers:
                    for cause, finding in self.findings.items():
                        if monotonic() < self.ends or number == 1:
                            self.findings[cause] = _checked(finding, brokers)
            except TargetProblem as problem:
                self._watch(f"not all was checked again: {problem.sentence}")

    def _lane(self, brokers: Brokers) -> None:
        try:
            while not self._stop.is_set() and monotonic() < self._explores_until:
                self._one(brokers)
        except TargetProblem as problem:  # such as a broker that does not serve again: the others go on
            self._watch(f"a pair of brokers is lost: {problem.sentence}")
            self.lost.append(problem)
        except BaseException as error:  # noqa: BLE001  raised again by `run`, in the main thread
            self._trouble.append(error)
            self._stop.set()

    def _one(self, brokers: Brokers) -> None:
        try:
            outcome = brokers.play(self.guidance.draw(), ignored=self._ignored)
        except SequenceDisturbed:
            self.progress.lost += 1
            return
        new = self.guidance.take(outcome)
        with self._lock:
            self.progress.sequences += 1
            self.progress.requests += outcome.requests
            self.progress.accepted += outcome.accepted
            self.progress.reached += new
            self.progress.asked.update(each.step.api for each in outcome.exchanges)
            fresh = self._claimed(outcome.difference)
        if fresh:
            self._pursue(outcome, brokers)

    def _claimed(self, difference: AnswerDifference | None) -> bool:
        """Whether a difference is of a cause that nobody has seen to; it is then ours."""
        if difference is None:
            return False
        cause = difference.cause
        if cause in self.findings:
            self.findings[cause] = msgspec.structs.replace(self.findings[cause], met=self.findings[cause].met + 1)
            return False
        if cause in self._under_way or self.not_again[cause] >= CHECKS:
            return False
        self._under_way.add(cause)
        return True

    def _pursue(self, found: SequenceOutcome, brokers: Brokers) -> None:
        """Plays a difference again with more patience, shrinks it, and keeps it."""
        difference = found.difference
        assert difference is not None
        after = monotonic() - self._began
        again = self._again(found, difference, brokers)
        if again is not None:
            left = self._explores_until - monotonic()
            seconds = max(5.0, min(SHRINK_AT_MOST_S, left / 3))
            key = f"finding-{len(self.findings) + 1}"
            small = shrunk(self._player(difference, brokers), again, self._database, key, seconds, self._stop.is_set)
            with self._lock:
                self.findings[difference.cause] = finding_of(small, found.requests, after, self._plan.oracle)
                self.progress.findings = len(self.findings)
            if self._plan.findings is not None and len(self.findings) >= self._plan.findings:
                self._stop.set()
            self._watch(f"found after {after:.0f} s, {small.requests} requests: {difference.cause}")
        with self._lock:
            self.not_again[difference.cause] += again is None
            self._under_way.discard(difference.cause)

    def _again(self, found: SequenceOutcome, difference: AnswerDifference, brokers: Brokers) -> SequenceOutcome | None:
        play = self._player(difference, brokers, MORE_PATIENCE * PATIENCE_S)
        outcome = play(ReplayedChoices(found.choices))
        return outcome if outcome.difference is not None and outcome.difference.cause == difference.cause else None

    def _player(
        self, wanted: AnswerDifference, brokers: Brokers, patience_s: float = PATIENCE_S
    ) -> Callable[[Choices], SequenceOutcome]:
        def others(difference: AnswerDifference) -> bool:
            return leaves_state_alike(difference) and difference.cause != wanted.cause

        def play(choices: Choices) -> SequenceOutcome:
            try:
                return brokers.play(choices, patience_s, others)
            except SequenceDisturbed:
                return SequenceOutcome()

        return play

    def _ignored(self, difference: AnswerDifference) -> bool:
        return leaves_state_alike(difference) and difference.cause in self.findings

    def _line(self) -> str:
        seconds, total = monotonic() - self._began, 60 * self._plan.minutes
        told = self.progress
        return (
            f"{_clock(seconds)} of {_clock(total)}: {told.sequences} sequences, {told.requests} requests, "
            f"{told.reached} states reached, {told.findings} findings"
        )


def leaves_state_alike(difference: AnswerDifference) -> bool:
    """Whether both brokers may be taken to be in the same state still, so that a sequence can go on."""
    if difference.api in READS:
        return True
    paths = [place.path for place in difference.places]
    whole = any(path in WHOLE or path.startswith("afterwards") or path.endswith("error_code") for path in paths)
    return not whole and broken_by(difference) is None


def _checked(finding: ShrunkDifference, brokers: Brokers) -> ShrunkDifference:
    def others(difference: AnswerDifference) -> bool:
        return leaves_state_alike(difference) and difference.cause != finding.cause

    try:
        outcome = brokers.play(ReplayedChoices(finding.choices), MORE_PATIENCE * PATIENCE_S, others)
    except SequenceDisturbed:
        outcome = SequenceOutcome()
    again = same_cause(finding, outcome.difference)
    return msgspec.structs.replace(finding, checks=finding.checks + 1, reproduced=finding.reproduced + again)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def ordered(findings: Iterable[ShrunkDifference]) -> list[ShrunkDifference]:
    """Those that break a guarantee first, then by API and cause."""
    return sorted(findings, key=lambda each: (not each.breaks_must, not each.guarantee, each.cause))
