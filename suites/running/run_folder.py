"""Where things lie in a run folder, `<utc>-<target>-<seed>`: what a case is called there, and its histories."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from brokertrial.suites.running.bad_options import BadOptions

MOST = 1000
HISTORIES = "histories"


def folder_name(case: str) -> str:
    """What a case is called where a slash cannot be: in folders, links and commands."""
    return case.replace("/", ".")


def case_id(name: str) -> str:
    """The case that a folder is named after; also of an id itself."""
    return name.replace(".", "/", 1)


def history_of(case: str, attempt: int = 1) -> str:
    """Where the history of an attempt lies, seen from the run folder."""
    return f"{HISTORIES}/{folder_name(case)}" + (f"~{attempt}" if attempt > 1 else "")


def history_names(run: Path) -> list[str]:
    """What the histories of a run are called."""
    return sorted(entry.name for entry in (run / HISTORIES).glob("*") if entry.is_dir())


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
