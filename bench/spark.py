"""Spark against DuckDB on the same files: a clean history, and one with a lost write planted in its middle.

    python bench/spark.py [records ...] [--all] [--memory 4g] [--scratch FOLDER]        default 10000000

For each size: the fingerprint pass (divergence, duplicate, lost, phantom, poll order) on two cores, with its memory at
most; the same questions on DuckDB; with --all every check on both. Targets for the fingerprint pass on two idle cores
and 6 GiB: 40 s at 10 M, 60 s at 100 M, 120 s at 500 M; all checks: the time an operation takes at 500 M is at most 1.5
times that at 100 M. The planted loss must be found, and is printed with its certificate. The load of the machine is
printed beside. Needs about 10 bytes of disk an operation, and the same again for what Spark spills.
"""

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from checking import FUSED
from synthetic import Planted, write_history

from checkers.check import all_checks
from checkers.judge import judge, judge_on
from histories.reader import History
from spark_analysis.engine import Spark


class Meter:
    """Wall seconds, and the most memory that this process and its children held, in GiB."""

    def __enter__(self) -> "Meter":
        self.peak, self._over = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        self._begin = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.monotonic() - self._begin
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._over.wait(0.5):
            held = 0
            for process in [me, *me.children(recursive=True)]:
                try:
                    held += process.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self.peak = max(self.peak, held / 1024**3)


def report(what: str, records: int, work: Callable[[], object]) -> object:
    """Runs it and prints its line."""
    with Meter() as meter:
        result = work()
    print(
        f"  {what}: {meter.seconds:.1f} s, {meter.seconds / records * 1e9:.0f} ns an operation, "
        f"{meter.peak:.1f} GiB at most, load {os.getloadavg()[0]:.0f}",
        flush=True,
    )
    return result


def on_spark(history: History, names: list[str], memory: str) -> list:
    """The anomalies that Spark finds, in a session that is started for it: its start is part of the time."""
    with Spark.over([history], "local[2]", **{"spark.driver.memory": memory}) as engine:
        return judge_on(engine, [history], names)[0].anomalies


def measure(records: int, folder: Path, every: bool, memory: str) -> None:
    """One size: a clean history, then one with a loss."""
    names = [name for name, check in all_checks().items() if check.default] if every else []
    for what, planted in (("clean", Planted()), ("a write lost", Planted(lost=(records // 2 + 1,)))):
        shutil.rmtree(folder, ignore_errors=True)
        begin = time.monotonic()
        write_history(folder, records, planted=planted)
        size = sum(file.stat().st_size for file in folder.rglob("*.parquet")) / 1e9
        print(f"{records:,} operations, {what}: {size:.1f} GB, made in {time.monotonic() - begin:.0f} s", flush=True)
        history = History.open(folder)
        ours = report("Spark, fingerprint pass", records, lambda: on_spark(history, list(FUSED), memory))  # noqa: B023
        theirs = report("DuckDB, fused pass", records, lambda: judge(history, FUSED).anomalies)  # noqa: B023
        assert ours == theirs, (ours, theirs)
        if names and what == "clean":
            ours = report("Spark, all checks", records, lambda: on_spark(history, names, memory))  # noqa: B023
            theirs = report("DuckDB, all checks", records, lambda: judge(history, names).anomalies)  # noqa: B023
            assert ours == theirs, (ours, theirs)
        for anomaly in theirs:
            print(f"  found: {anomaly.name}: {anomaly.sentence} (operations {anomaly.operations})", flush=True)


def main() -> None:
    """Prints a block for each size; what was made is deleted at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=int, nargs="*", default=[10_000_000])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--scratch", type=Path, default=None)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.scratch) as scratch:
        for records in asked.records:
            measure(records, Path(scratch) / "history", asked.all, asked.memory)


if __name__ == "__main__":
    main()
