"""Temporary folders that can be told from leftovers: whoever made one holds a lock on it for as long as it lives.

The kernel lets go of the lock when the process ends, also by kill -9; a number of a process in the name would be given
out again, and means nothing to another container that shares the folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SUFFIX = ".scratch"
YOUNG_S = 60.0
"""A folder that was made a moment ago may not be held yet."""


class Scratch(tempfile.TemporaryDirectory[str]):
    """A temporary folder that is gone at the end, at the latest with the process; `left_behind` finds it otherwise."""

    def __init__(self, purpose: str) -> None:
        super().__init__(prefix=f"brokertrial-{purpose}-", suffix=SUFFIX, ignore_cleanup_errors=True)
        self._letting_go = weakref.finalize(self, os.close, _held(Path(self.name)))

    def cleanup(self) -> None:
        """Removes it; harmless twice."""
        super().cleanup()
        self._letting_go()


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Holds a folder that is there, such as that of a run that is under way. BlockingIOError if another does."""
    held = _held(folder)
    try:
        yield
    finally:
        os.close(held)


def is_held(folder: Path) -> bool:
    """Whether a living process holds it."""
    try:
        with holding(folder):
            return False
    except BlockingIOError:
        return True


def left_behind() -> list[Path]:
    """The scratch folders of this user that nobody holds any more."""
    return sorted(folder for folder in Path(tempfile.gettempdir()).glob(f"brokertrial-*{SUFFIX}") if _is_left(folder))


def remove(folder: Path) -> bool:
    """Removes what was left behind; whether it was there and nobody held it."""
    with suppress(OSError), holding(folder):
        shutil.rmtree(folder)
        return True
    return False


def _is_left(folder: Path) -> bool:
    try:
        about = folder.lstat()
        mine = about.st_uid == os.getuid() and folder.is_dir() and not folder.is_symlink()
        return mine and time.time() - about.st_mtime > YOUNG_S and not is_held(folder)
    except OSError:  # its owner has just removed it
        return False


def _held(folder: Path) -> int:
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(held)
        raise
    return held
