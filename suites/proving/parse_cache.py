"""What was found in files by parsing them, kept from process to process: parsing a hundred of them takes seconds."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from brokertrial.suites.proving.definitions import Definition
from brokertrial.suites.targets.cache import cache_folder

MOST = 4000
"""Files that are remembered; beyond it what this process did not ask for is forgotten."""


class ParsedFile(msgspec.Struct, frozen=True):
    """What one file imports, and what it says without what counts for nothing, as a hash."""

    imports: tuple[str, ...]
    content: str
    definitions: tuple[Definition, ...] = ()
    cases: dict[str, tuple[str, ...]] = {}
    """The names that each case mentions, by its function."""


class ParseCache:
    """By the hash of name and text. A place that cannot be read or written costs time, and nothing else."""

    def __init__(self, place: Callable[[], Path]) -> None:
        self._place = place
        self._before: dict[str, ParsedFile] | None = None
        self._asked: dict[str, ParsedFile] = {}
        self._new = False

    def of(self, file: str, text: bytes, parse: Callable[[str, bytes], ParsedFile]) -> ParsedFile:
        """What is known of a file with this text; it is parsed where nothing is."""
        if self._before is None:
            self._before = self._read()
            atexit.register(self.keep)
        name = hashlib.sha256(file.encode() + b"\0" + text).hexdigest()[:24]
        if (found := self._asked.get(name) or self._before.get(name)) is None:
            found, self._new = parse(file, text), True
        self._asked[name] = found
        return found

    def keep(self) -> None:
        """Writes what is new; of two processes that do it at once the later one wins."""
        if not self._new:
            return
        merged = {**self._read(), **self._asked}
        kept = merged if len(merged) <= MOST else self._asked
        with contextlib.suppress(OSError):
            _replace(self._place(), msgspec.json.encode(kept))
            self._new = False

    def _read(self) -> dict[str, ParsedFile]:
        try:
            return msgspec.json.decode(self._place().read_bytes(), type=dict[str, ParsedFile])
        except (OSError, msgspec.DecodeError):
            return {}


def in_cache(*parsers: Path) -> Callable[[], Path]:
    """A place in the user's cache for what these files find, in the version that they have now."""
    version = hashlib.sha256(b"\0".join(parser.read_bytes() for parser in parsers)).hexdigest()[:12]
    return lambda: cache_folder() / f"parsed-files-{version}.json"


def _replace(place: Path, data: bytes) -> None:
    for other in place.parent.glob("parsed-files-*.json"):
        if other != place:
            other.unlink(missing_ok=True)
    written, name = tempfile.mkstemp(dir=place.parent, prefix=".parsed-files-")
    with open(written, "wb") as file:
        file.write(data)
    os.replace(name, place)
