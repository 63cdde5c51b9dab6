"""The seal of a run folder: run.json.

run.json names every other file with its size and checksum, and has a checksum of itself. A file that was cut, is
missing or came from another run is refused by name before anything is judged.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from brokertrial.ci.errors import UserError

NAME = "run.json"
FORMAT = 1


def seal(folder: Path, facts: dict[str, Any], *, complete: bool) -> None:
    """Writes run.json, atomically; with `complete`, every file of the folder goes into it, so it must come last."""
    content = {"format": FORMAT, "complete": complete, **facts, "files": _files(folder) if complete else {}}
    content["checksum"] = _checksum(content)
    scratch = folder / f".{NAME}.new"
    scratch.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(scratch, folder / NAME)


def read(folder: Path) -> dict[str, Any]:
    """What run.json says, if it is whole; raises UserError with one sentence otherwise."""
    path = folder / NAME
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such run folder.")
    if not path.is_file():
        raise UserError(f"{folder} is not a run folder: it has no {NAME}.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        claimed = content.pop("checksum")
    except (OSError, ValueError, KeyError, AttributeError):
        raise UserError(f"{path} is damaged: it is not the JSON that this suite writes.") from None
    if claimed != _checksum(content):
        raise UserError(f"{path} is damaged: its checksum does not match its content.")
    if content.get("format") != FORMAT:
        raise UserError(f"{path} has format {content.get('format')}; this brokertrial reads format {FORMAT}.")
    return dict(content)


def verify(folder: Path) -> dict[str, Any]:
    """Reads run.json and compares every file that it names; raises UserError for the first that is not as it was."""
    content = read(folder)
    if not content["complete"]:
        raise UserError(
            f"{folder} was never closed: the run was killed.",
            f"Its histories may still be readable one by one: brokertrial check {folder}/CASE",
        )
    for name, seal in content["files"].items():
        path = folder / name
        if not path.is_file():
            raise UserError(f"{folder}: {name} is missing, which {NAME} names.")
        if path.stat().st_size != seal["size"]:
            raise UserError(f"{folder}: {name} has {path.stat().st_size:,} bytes; {NAME} names {seal['size']:,}.")
        if _digest(path) != seal["sha256"]:
            raise UserError(f"{folder}: {name} is not the file that was written: its checksum differs from {NAME}.")
    return content


def _files(folder: Path) -> dict[str, dict[str, Any]]:
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink() and p != folder / NAME)
    return {str(p.relative_to(folder)): {"size": p.stat().st_size, "sha256": _digest(p)} for p in paths}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
