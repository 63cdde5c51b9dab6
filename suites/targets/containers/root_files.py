"""The files of an image that stands on nothing: programs of this machine, with the libraries they are linked to."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

ELF = b"\x7fELF"


class RootFiles:
    """An archive that is filled; each file once. Programs bring the libraries that `ldd` names."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self._there: set[str] = set()
        self._asked: set[str] = set()

    def folder(self, place: str, mode: int = 0o755) -> None:
        """An empty folder."""
        self._add(place, None, mode)

    def text(self, place: str, content: str, mode: int = 0o644) -> None:
        """A file with this content."""
        self._add(place, content.encode(), mode)

    def file(self, source: Path, place: str = "") -> None:
        """A file of this machine, under its own path or another one; links are followed."""
        real = source.resolve()
        content = real.read_bytes()
        self._add(place or str(source), content, 0o755 if os.access(real, os.X_OK) else 0o644)
        if content[:4] == ELF:
            self._libraries(real)

    def tree(self, source: Path, place: str = "", leave_out: Callable[[Path], bool] = lambda path: False) -> None:
        """A folder of this machine with all that is in it, but for what is left out (asked with relative paths)."""
        for folder, names, files in os.walk(source):
            here = Path(folder)
            names[:] = [name for name in names if not leave_out((here / name).relative_to(source))]
            for name in files:
                path = here / name
                if path.exists() and not leave_out(path.relative_to(source)):
                    self.file(path, f"{place or source}/{path.relative_to(source)}")

    def _add(self, place: str, content: bytes | None, mode: int) -> None:
        name = place.strip("/")
        if name in self._there:
            return
        self._there.add(name)
        about = tarfile.TarInfo(name)
        about.mode, about.type = mode, tarfile.DIRTYPE if content is None else tarfile.REGTYPE
        about.size = len(content or b"")
        self._archive.addfile(about, io.BytesIO(content or b""))

    def _libraries(self, program: Path) -> None:
        if str(program) in self._asked:
            return
        self._asked.add(str(program))
        told = subprocess.run(["ldd", str(program)], capture_output=True, text=True, timeout=30, check=False).stdout
        for line in told.splitlines():
            if found := re.search(r"(/\S+) \(0x", line):
                library = Path(found[1])
                if library.name.startswith(("libjvm", "libjli")):
                    continue  # a part of Java, found beside its programs
                self.file(library, str(library))
