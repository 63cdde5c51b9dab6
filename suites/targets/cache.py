"""The per-user folder for what is fetched or made once: jars, class archives."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/brokertrial`, or its like on this system; made if absent."""
    return platformdirs.user_cache_path("brokertrial", appauthor=False, ensure_exists=True)


def make_once(place: Path, make: Callable[[Path], None]) -> Path:
    """Fills a new folder beside `place` and renames it: a reader sees all of it or nothing.

    Two runs may both make it; the one that comes second throws its own away.
    """
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".making-") as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        make(made)
        try:
            made.rename(place)
        except OSError:
            if not place.exists():
                raise
            shutil.rmtree(made, ignore_errors=True)
    return place
