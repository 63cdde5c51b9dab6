"""What `RUN`, `RUN/CASE` or a history folder on the command line means; a run may be a folder or an archive."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from brokertrial.ci import run_archive
from brokertrial.ci.errors import UserError
from brokertrial.ci.run_folder import NAME
from brokertrial.suggestion import nearest
from brokertrial.suites.running.run_folder import HISTORIES, case_id

HISTORY = "history.json"


@dataclass(frozen=True)
class RunLocation:
    """A run folder and perhaps one case of it, or (with `run` None) a history folder that belongs to no run."""

    run: Path | None
    case: str | None = None
    history: Path | None = None
    archive: Path | None = None
    """Where `run` was unpacked from: it is a temporary folder then."""

    @property
    def name(self) -> str:
        """The run, or the history, as the user names it; commands that are shown begin with it."""
        return str(self.archive or self.run or self.history)

    @property
    def beside(self) -> Path | None:
        """Where files about a run may be put: the run folder, or where its archive is."""
        return self.archive.parent if self.archive else self.run


def find(text: str) -> RunLocation:
    """What the user means; the case may be written `area/name` or `area.name`."""
    path = Path(text)
    for place in (path, *list(path.parents)[:2]):
        is_run = (place / NAME).is_file()
        if is_run or run_archive.is_archive(place):
            rest = path.relative_to(place).parts
            rest = rest[1:] if rest[:1] == (HISTORIES,) else rest
            case = case_id("/".join(rest)) if rest else None
            return RunLocation(place, case) if is_run else RunLocation(run_archive.unpacked(place), case, archive=place)
    if (path / HISTORY).is_file():
        return RunLocation(None, history=path)
    if path.is_dir():
        raise UserError(f"{text} is neither a run folder (no {NAME}) nor a history (no {HISTORY}).")
    near = [str(entry.parent) for entry in path.parent.glob(f"*/{NAME}")] if path.parent.is_dir() else []
    near += [str(entry) for entry in path.parent.glob(f"*{run_archive.SUFFIX}")]
    raise UserError(f"{text}: there is no such run folder or archive.", nearest(text, near))
