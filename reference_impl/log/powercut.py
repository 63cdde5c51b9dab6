"""`powercut DIR`: makes of a stopped broker's folder what a power failure would have left on its disk.

`kill -9` keeps the page cache, so it cannot show a missing fsync. Every sync notes beside its file how much of it was
safe (`synced.py`); here each log is cut back to that, and what was never synced is gone. The metadata journal is synced
before every answer, indexes and producer snapshots when they are written. What nobody syncs and a start can rebuild or
do without (leader epochs, aborted transactions of a cut segment, checkpoints, the clean-stop marker) is removed.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from brokertrial.reference_impl.log import synced

_UNSYNCED = ("leader-epochs", "high-watermarks", "clean-shutdown")
_TORN_BYTES = 4096


def run(data: Path, torn: int | None) -> int:
    """Cuts the power of one node, or of every node of a cluster's folder; the exit status."""
    if not data.is_dir():
        print(f"reference_impl: {data} is no folder", file=sys.stderr)
        return 4
    lost = cut(data, None if torn is None else random.Random(torn))
    print(f"{lost} bytes were never synced and are gone")
    return 0


def cut(data: Path, rng: random.Random | None) -> int:
    """Cuts every log below this folder; the number of bytes lost. With `rng` some of them come back torn."""
    lost = 0
    for log in sorted(data.rglob("*.log")):
        if not (log.stem.isdigit() and len(log.stem) == 20):
            continue
        size, kept = log.stat().st_size, synced.length(log)
        if size <= kept:
            continue
        lost += size - kept
        for suffix in ("index", "txnindex"):
            log.with_suffix(f".{suffix}").unlink(missing_ok=True)
        with log.open("r+b") as file:
            file.truncate(kept)
            if rng is not None:
                file.seek(kept)
                file.write(rng.randbytes(rng.randrange(1, min(_TORN_BYTES, size - kept) + 1)))
    for pattern in _UNSYNCED:
        for path in data.rglob(pattern):
            path.unlink(missing_ok=True)
    return lost
