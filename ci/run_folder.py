"""Where things are: new run folders, and what `RUN`, `RUN/CASE` or a history folder on the command line means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from brokertrial.ci import manifest
from brokertrial.ci.errors import UserError, nearest

HISTORY = "history.json"


def new_run(parent: Path, target: str, seed: int, now: datetime | None = None) -> Path:
    """Makes `runs/<utc>-<target>-<seed>`; two runs of the same second get different folders."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
    word = re.sub(r"[^A-Za-z0-9.=]+", "-", target).strip("-")[:40]
    for attempt in range(1, 1000):
        folder = parent / f"{stamp}-{word}-{seed}{'' if attempt == 1 else f'.{attempt}'}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(f"{folder}: cannot be made: {error.strerror}.") from None
        return folder.resolve()
    raise UserError(f"{parent} has a thousand runs of {stamp} already.")


@dataclass(frozen=True)
class RunLocation:
    """A run folder and perhaps one case of it, or (with `run` None) a history folder that belongs to no run."""

    run: Path | None
    case: str | None = None
    history: Path | None = None


def find(text: str) -> RunLocation:
    """What the user means; the case may be written `area/name` or `area.name`."""
    path = Path(text)
    for folder in (path, *list(path.parents)[:2]):
        if (folder / manifest.NAME).is_file():
            rest = path.relative_to(folder).parts
            rest = rest[1:] if rest[:1] == ("histories",) else rest
            return RunLocation(folder, "/".join(rest).replace(".", "/", 1) if rest else None)
    if (path / HISTORY).is_file():
        return RunLocation(None, history=path)
    if path.is_dir():
        raise UserError(f"{text} is neither a run folder (no {manifest.NAME}) nor a history (no {HISTORY}).")
    folders = [str(entry.parent) for entry in path.parent.glob(f"*/{manifest.NAME}")] if path.parent.is_dir() else []
    raise UserError(f"{text}: there is no such run folder.", nearest(text, folders))
