"""The runs of a gate: the first, and those of its inconclusive cases again, as one story.

Only what came to no verdict is run again: a failure is never repeated away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.errors import UserError
from brokertrial.ci.gate.decision import counted, unexplained
from brokertrial.ci.reports import results as stored
from brokertrial.suites.events import RunFinished, RunStarted
from brokertrial.suites.exit_status import ExitStatus, worst
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.situations.pairs import case_named


@dataclass(frozen=True)
class Runs:
    """What all runs of a gate came to. `run` is None where the target never served."""

    folder: Path
    run: RunStarted | None
    results: tuple[CaseResult, ...]
    ended: ExitStatus
    """What the ends of the runs say beyond the results."""
    error: str = ""
    duration_s: float = 0.0
    places: Mapping[str, Path] = field(default_factory=dict)
    """The run folders of the cases that another run than the first decided."""

    @classmethod
    def read(cls, folder: Path, status: int) -> Runs:
        """One run from its folder; `status` is the exit status of the command, where nothing was written."""
        try:
            header, results, footer = stored.read(folder)
        except UserError as error:
            why = error.sentence.removeprefix(f"{folder} judged nothing: ").rstrip(".")
            return cls(folder, None, (), ExitStatus(status) if status else ExitStatus.INTERNAL, why)
        ended = unexplained(footer.end.status, results)
        if ended == ExitStatus.PASSED and status == ExitStatus.INTERNAL != footer.end.status:
            ended = ExitStatus.INTERNAL  # a report could not be written
        return cls(folder, header.run, tuple(results), ended, footer.end.error, footer.end.duration_s)

    @property
    def inconclusive(self) -> tuple[str, ...]:
        """The cases that can be run again."""
        unsure = (result.case for result in self.results if result.verdict is Verdict.INCONCLUSIVE)
        return tuple(case for case in unsure if case_named(case) is not None)

    def then(self, later: Runs) -> Runs:
        """This story with a later run of some of its cases; what that did not decide stays as it was."""
        decided = {r.case: r for r in later.results if r.verdict in (Verdict.PASS, Verdict.FAIL)}
        results = tuple(_again(r, decided.get(r.case)) for r in self.results)
        met = {result.case for result in self.results}
        results += tuple(r for r in later.results if r.case not in met and r.verdict is Verdict.FAIL)
        return Runs(
            self.folder,
            self.run,
            tuple(results),
            worst((self.ended, later.ended)),
            self.error or later.error,
            self.duration_s + later.duration_s,
            {**self.places, **dict.fromkeys(decided, later.folder)},
        )

    @property
    def end(self) -> RunFinished:
        """Its last event."""
        return RunFinished(self.ended, self.ended == ExitStatus.INTERRUPTED, self.error, self.duration_s)


def conduct(
    options: RunOptions,
    retries: int,
    run: Callable[[RunOptions], int],
    say: Callable[[str], object] = lambda sentence: None,
) -> Runs:
    """Runs once, then the inconclusive cases again, each time with another seed and a target that is started anew.

    `run` does one run in the folder that its options name, and returns the exit status; `say` is told of the others.
    """
    options = options.in_folder()
    told = Runs.read(_folder(options), run(options))
    for number in range(1, retries + 1):
        if told.ended == ExitStatus.INTERRUPTED or not told.inconclusive:
            break
        what = counted(len(told.inconclusive), "inconclusive case")
        say(f"\n{what} run again, on a target that is started anew: {number} of at most {retries} times")
        again = msgspec.structs.replace(
            options,
            select=told.inconclusive,
            deselect=(),
            first=(),
            budget=None,
            situations=(),
            run_dir=None,
            seed=(options.seed or 0) + 1000 * number,
        ).in_folder()
        told = told.then(Runs.read(_folder(again), run(again)))
    return told


def _folder(options: RunOptions) -> Path:
    return Path(options.run_dir or "")


def _again(before: CaseResult, now: CaseResult | None) -> CaseResult:
    """The later result where there was no verdict before, or where it is a failure; every attempt is kept."""
    if now is None or (before.verdict is not Verdict.INCONCLUSIVE and now.verdict is not Verdict.FAIL):
        return before
    return msgspec.structs.replace(now, attempts=(*before.attempts, *now.attempts))
