"""The files that a gate leaves for a CI system: a new module here is a new file.

A module says `NAME`, the name of its file, and `render(gated)`, the text of it.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

from brokertrial.ci.gate.gated import Gated


def remove(folder: Path) -> None:
    """Removes the files of an earlier gate, so that none is taken for one of this."""
    for kind in _kinds():
        (folder / kind.NAME).unlink(missing_ok=True)


def write(gated: Gated, folder: Path) -> list[Path]:
    """Writes every file, and returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in _kinds():
        path = folder / kind.NAME
        path.write_text(kind.render(gated), encoding="utf-8")
        written.append(path)
    return written


def _kinds() -> list[ModuleType]:
    return [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
