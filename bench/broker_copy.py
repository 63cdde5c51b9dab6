"""A copy of the bundled broker that may be changed, put before the cases as `reference` is, and what came of it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import own_cases
from brokertrial.suites.events import CaseFinished, RunEvent
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.estimates import healthy_s
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import Enough, run
from brokertrial.suites.targets import TargetProblem

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "brokertrial"
BROKER = "reference_impl"
BROAD = 0.05
"""Brokers that fail more of the plain cases are scored apart: what fails everywhere says little of a suite."""
LONGEST_S = 5.0


class Found(msgspec.Struct):
    """What the cases saw of one broker."""

    kill: str
    """`plain`, `pair`, `broad`, `dead` or `survived`."""
    by: list[str]
    """Cases and pairs that failed, plain ones first."""
    sentence: str = ""
    """What was false, in the words of the first of them."""
    tried: int = 0


@contextmanager
def broker_copy() -> Iterator[Path]:
    """A folder with the package: below, every `reference` that is started runs the broker of that folder."""
    before = os.environ.get("PYTHONPATH")
    with tempfile.TemporaryDirectory(prefix="broker-copy-") as folder:
        shutil.copytree(PACKAGE / BROKER, Path(folder, BROKER), ignore=shutil.ignore_patterns("__pycache__"))
        package = Path(folder, "brokertrial")
        package.mkdir()
        for each in PACKAGE.iterdir():
            if each.name == BROKER:
                package.joinpath(BROKER).symlink_to(Path("..", BROKER))
            elif each.name != "__pycache__":
                package.joinpath(each.name).symlink_to(each.resolve())
        os.environ["PYTHONPATH"] = folder
        try:
            yield Path(folder)
        finally:
            os.environ.pop("PYTHONPATH")
            if before is not None:
                os.environ["PYTHONPATH"] = before


def wire_cases() -> list[str]:
    """Those that are met in situations too."""
    return [one.id for one in own_cases() if one.kind == "wire" and healthy_s(one, "full") <= LONGEST_S]


def looked_at(
    cases: Iterable[str],
    situations: tuple[str, ...] = (),
    *,
    target: str = "reference",
    seed: int = 1,
    jobs: int = 4,
    of: int = 0,
) -> Found:
    """The verdicts of the cases on the broker as it is now; it ends early where a broker fails all over: in more than
    its share of them, or of as many as `of`."""
    chosen = tuple(cases)
    most = BROAD * max(of, len(chosen))
    failed: list[str] = []

    def note(event: RunEvent) -> None:
        if isinstance(event, CaseFinished) and event.result.verdict is Verdict.FAIL and "@" not in event.result.case:
            failed.append(event.result.case)
            if len(failed) > most:
                raise Enough

    with tempfile.TemporaryDirectory(prefix="broker-run-") as folder:
        options = RunOptions(
            target,
            select=chosen,
            situations=situations,
            seed=seed,
            run_dir=folder,
            jobs=jobs,
            require=(),
            keep="failed",
        )
        try:
            ended = run(options, note)
        except TargetProblem as problem:
            return Found("dead", [], problem.said)
    if ended.status == ExitStatus.INTERRUPTED:
        raise KeyboardInterrupt
    return _judged(ended.results, most)


def _judged(results: tuple[CaseResult, ...], most: float) -> Found:
    """Broad before plain before pair."""
    failed = [result for result in results if result.verdict is Verdict.FAIL]
    plain = [result for result in failed if "@" not in result.case]
    by = [*plain, *(result for result in failed if "@" in result.case)]
    first = next((failure.sentence for result in by for failure in result.failures), "")
    kill = "plain" if plain else "pair" if by else "survived"
    if not results or any(result.reason and result.reason.kind in ("died", "sick") for result in failed):
        kill = "dead"
    elif len(plain) > most:
        kill = "broad"
    return Found(kill, [result.case for result in by], first, len(results))
