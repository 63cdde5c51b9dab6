"""Where things are: what `RUN`, `RUN/CASE` or a history folder on the command line means."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from brokertrial.ci import manifest
from brokertrial.ci.errors import UserError, nearest

HISTORY = "history.json"


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
