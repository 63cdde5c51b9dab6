"""How long judging takes: synthetic histories in which every record was sent and read once.

    python bench/checking.py [records ...]        default 1000000

Targets on two idle cores: 2 s for 1 M records, 15 s for 10 M. CPU seconds are printed beside, for a machine that is not
idle, and so is the memory at its highest.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from synthetic import write_history

from checkers.judge import judge
from histories.reader import History


def measure(records: int) -> str:
    """One line: size, seconds to open and to judge."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "history"
        write_history(folder, records)
        size = sum(file.stat().st_size for file in folder.rglob("*.parquet")) / 1e6
        begin = time.monotonic()
        history = History.open(folder)
        opened, cpu = time.monotonic(), time.process_time()
        judgement = judge(history)
        judged, cpu = time.monotonic(), time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return (
        f"{records:>12,} records ({size:.0f} MB): opened and verified in {opened - begin:.2f} s, "
        f"judged in {judged - opened:.2f} s ({cpu:.2f} s of CPU, {peak:.1f} GB at most), "
        f"{len(judgement.judged)} checks, {len(judgement.anomalies)} anomalies"
    )


def main() -> None:
    """Prints a line for each size."""
    for records in [int(each) for each in sys.argv[1:]] or [1_000_000]:
        print(measure(records), flush=True)


if __name__ == "__main__":
    main()
