"""How long judging takes: synthetic histories in which every record was sent and read once.

    python -m bench.checking [records ...]        default 1000000

Two figures a size, one beside the other: the fused pass (the fingerprint, and the five checks that it settles:
divergence, duplicate, lost, phantom, poll order), and all checks, one by one. Targets on two idle cores: fused 1.5 s
for 1 M records and 10 s for 10 M; all 4 s and 40 s in at most 4 GiB, hoped for are 2 s and 15 s. CPU seconds are
printed beside, for a machine that is not idle, with its load and memory at most.
"""

import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.synthetic import write_history
from brokertrial.checkers.check import all_checks
from brokertrial.checkers.judge import judge
from brokertrial.histories.reader import History

FUSED = ("inconsistent-offsets", "duplicate", "lost-write", "phantom", "nonmonotonic-poll")


def measure(records: int) -> None:
    """Prints a block: size, seconds to open, and to judge in both ways."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "history"
        write_history(folder, records)
        size = sum(file.stat().st_size for file in folder.rglob("*.parquet")) / 1e6
        begin = time.monotonic()
        history = History.open(folder)
        opened = time.monotonic() - begin
        print(f"{records:,} records ({size:.0f} MB): opened and verified in {opened:.2f} s", flush=True)
        every = [name for name, check in all_checks().items() if check.default]
        _report("fused pass", history, FUSED)
        _report("all checks", history, every)


def _report(what: str, history: History, names: Sequence[str]) -> None:
    begin, cpu = time.monotonic(), time.process_time()
    judgement = judge(history, names)
    wall, cpu = time.monotonic() - begin, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(
        f"  {what}: {wall:.2f} s ({cpu:.2f} s of CPU, {peak:.1f} GiB at most, load {os.getloadavg()[0]:.0f}), "
        f"{len(judgement.judged)} checks, {len(judgement.anomalies)} anomalies",
        flush=True,
    )


def main() -> None:
    """Prints a block for each size."""
    for records in [int(each) for each in sys.argv[1:]] or [1_000_000]:
        measure(records)


if __name__ == "__main__":
    main()
