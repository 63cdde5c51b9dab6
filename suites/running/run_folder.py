"""New run folders: `<utc>-<target>-<seed>`."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from brokertrial.suites.running.bad_options import BadOptions

MOST = 1000


def new_run(parent: Path, target: str, seed: int, now: datetime | None = None) -> Path:
    """Makes a folder; two runs of the same second get different ones."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
    word = re.sub(r"[^A-Za-z0-9.=]+", "-", target).strip("-")[:40]
    for attempt in range(1, MOST):
        folder = parent / f"{stamp}-{word}-{seed}{'' if attempt == 1 else f'.{attempt}'}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise BadOptions(f"{folder}: cannot be made: {error.strerror}.") from None
        return folder.resolve()
    raise BadOptions(f"{parent} has a thousand runs of {stamp} already.")
