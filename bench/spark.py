"""Spark against DuckDB on the same files: a clean history, and one with a lost write planted in its middle.

    python -m bench.spark [records ...] [--all] [--memory 4g] [--limit SECONDS] [--scratch FOLDER] [--page FILE]

For each size: the fingerprint pass (divergence, duplicate, lost, phantom, poll order) on two cores, with its CPU
seconds, and its memory and disk at most; the same questions on DuckDB; with --all every check on both. Targets for the
fingerprint pass on two idle cores and 6 GiB: 40 s at 10 M, 60 s at 100 M, 120 s at 500 M; all checks: the time an
operation takes at 500 M is at most 1.5 times that at 100 M. The planted loss must be found, and is printed with its
certificate, drawn in the page that --page names. The load of the machine is printed beside. Default: 10000000 records.

Every figure comes from a process of its own, its start included. It runs unattended, sizes in ascending order: what
fails, or is not done within the limit, says so and the rest goes on; what would need more disk than there is, by what
it took of the size before, is left out and says so. The files need about 10 bytes an operation.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.checking import FUSED
from bench.metering import GIB, Cost, Failed, metered
from bench.synthetic import Planted, write_history
from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.check import all_checks
from brokertrial.checkers.judge import judge, judge_on
from brokertrial.ci.reports.analysis_page import page
from brokertrial.histories.reader import History
from brokertrial.spark_analysis.canaries import CanaryResult
from brokertrial.spark_analysis.engine import Spark
from brokertrial.spark_analysis.job import HistoryResult, JobResult, Opened, certify
from brokertrial.spark_analysis.results import results_of

Work = Callable[[Path, list[str], str], list[Anomaly]]


def on_spark(folder: Path, names: list[str], memory: str, drawn: Path | None = None) -> list[Anomaly]:
    """The anomalies that Spark finds, in a session that is started for it; with `drawn`, a page of them."""
    settings = {"spark.driver.memory": memory, "spark.local.dir": str(folder.parent / "spill")}
    begin, history = time.monotonic(), History.open(folder)
    with Spark.over([history], "local[2]", **settings) as engine:
        judgement = judge_on(engine, [history], names)[0]
        if drawn is not None and judgement.anomalies:
            found = [HistoryResult(Opened(str(folder), "bench", history), judgement)]
            certify(engine, found)
            outcome = JobResult(found, [], CanaryResult((), (), ()), [])
            results = results_of(outcome, (), "local[2]", time.monotonic() - begin)
            drawn.write_text(page(outcome, results), encoding="utf-8")
    return judgement.anomalies


def on_duckdb(folder: Path, names: list[str], memory: str) -> list[Anomaly]:
    """The anomalies that DuckDB finds; it takes the memory that it finds."""
    return judge(History.open(folder), names).anomalies


class Bench:
    """Sizes one after the other, and what they took, by which is told what the next will."""

    def __init__(self, scratch: Path, memory: str, limit_s: float, drawn: Path | None = None) -> None:
        self.scratch, self.memory, self.limit_s, self.drawn = scratch, memory, limit_s, drawn
        self.took: dict[str, tuple[int, Cost]] = {}
        self.wrong = 0

    def measure(self, records: int, every: bool) -> None:
        """One size: a clean history, then one with a loss."""
        default = [name for name, check in all_checks().items() if check.default]
        for what, planted in (("clean", Planted()), ("a write lost", Planted(lost=(records // 2 + 1,)))):
            self._write(records, what, planted)
            found = self._both("fingerprint pass", records, list(FUSED))
            if every and what == "clean":
                self._both("all checks", records, default)
            for anomaly in found:
                print(f"  found: {anomaly.name}: {anomaly.sentence} (operations {anomaly.operations})", flush=True)
            if {anomaly.name for anomaly in found} != ({"lost-write"} if planted.lost else set()):
                self._fail("that is not what was planted")

    def _write(self, records: int, what: str, planted: Planted) -> None:
        folder, begin = self.scratch / "history", time.monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        write_history(folder, records, planted=planted)
        size = sum(file.stat().st_size for file in folder.rglob("*.parquet")) / 1e9
        print(f"{records:,} operations, {what}: {size:.1f} GB, made in {time.monotonic() - begin:.0f} s", flush=True)

    def _both(self, what: str, records: int, names: list[str]) -> list[Anomaly]:
        ours = self._report(f"Spark, {what}", records, partial(on_spark, drawn=self.drawn), names)
        theirs = self._report(f"DuckDB, {what}", records, on_duckdb, names)
        if ours is not None and theirs is not None and ours != theirs:
            self._fail(f"{what}: they do not agree: {ours} and {theirs}")
        return ours or theirs or []

    def _report(self, what: str, records: int, work: Work, names: list[str]) -> Any:
        before, cost = self.took.get(what, (records, Cost()))
        need, free = cost.disk * records / before, shutil.disk_usage(self.scratch).free / GIB
        if need > 0.9 * free:
            print(f"  {what}: left out, it would need {need:.0f} GiB of disk, and {free:.0f} are free", flush=True)
            return None
        (self.scratch / "spill").mkdir(exist_ok=True)
        try:
            found, cost = metered(
                work, self.scratch / "history", names, self.memory, scratch=self.scratch, limit_s=self.limit_s
            )
        except Failed as problem:
            self._fail(f"{what}: {problem}")
            return None
        finally:
            shutil.rmtree(self.scratch / "spill", ignore_errors=True)
        self.took[what] = (records, cost)
        print(f"  {what}: {cost.told(records)}", flush=True)
        return found

    def _fail(self, sentence: str) -> None:
        self.wrong += 1
        print(f"  FAILED  {sentence}", flush=True)


def main() -> int:
    """Prints a block for each size; what was made is deleted at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=int, nargs="*", default=[10_000_000])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--limit", type=float, default=7_200.0)
    parser.add_argument("--scratch", type=Path, default=None)
    parser.add_argument("--page", type=Path, default=None)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended, and what was made deleted
    with tempfile.TemporaryDirectory(dir=asked.scratch) as scratch:
        bench = Bench(Path(scratch), asked.memory, asked.limit, asked.page)
        for records in sorted(asked.records):
            bench.measure(records, asked.all)
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
