"""Log files of nodes, read as they grow, each stretch stamped with the time of its last byte."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from brokertrial.suites.targets.base import NodeLogLine

_EVERY_S = 0.05
_BLOCK = 64 * 1024


@dataclass(slots=True)
class _LogFile:
    node: int
    path: Path
    seen: int = 0
    looked: int = 0
    stretches: list[tuple[int, int, int]] = field(default_factory=list)  # (ns, first byte, byte after the last)


class LogWatch:
    """Follows files in one thread. Keeps positions, not lines: a broker that logs a gigabyte costs no memory.

    The nodes write to their files themselves, not through a pipe of ours: a busy suite never holds a broker up.
    """

    def __init__(self) -> None:
        self._files: list[_LogFile] = []
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, node: int, path: Path) -> None:
        """Adds a file, which need not exist yet; what is in it already belongs to now."""
        with self._lock:
            if all(file.path != path for file in self._files):
                self._files.append(_LogFile(node, path))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="log-watch", daemon=True)
                self._thread.start()

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Gives the nodes other ids: the ones that they turned out to have."""
        with self._lock:
            for file in self._files:
                file.node = numbers.get(file.node, file.node)

    def lines(self, begin_ns: int, end_ns: int) -> list[NodeLogLine]:
        """All lines written between these times, in order of time."""
        self._look()
        found: list[NodeLogLine] = []
        with self._lock:
            for file in self._files:
                for ns, first, last in file.stretches:
                    if begin_ns <= ns <= end_ns:
                        found += [NodeLogLine(file.node, text, ns) for text in _text(file.path, first, last)]
        return sorted(found, key=lambda line: line.ns)

    def close(self) -> None:
        """Ends the thread; lines can still be asked for while the files are there."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        self._look()

    def _run(self) -> None:
        while not self._ended.wait(_EVERY_S):
            self._look()

    def _look(self) -> None:
        with self._lock:
            for file in self._files:
                now = time.monotonic_ns()
                size = _complete_size(file)
                if size < file.seen:  # cut or replaced by the broker: what was known of it is gone
                    file.seen, file.stretches = 0, []
                if size > file.seen:
                    file.stretches.append((_written(file, now), file.seen, size))
                    file.seen = size
                file.looked = now


def _written(file: _LogFile, now: int) -> int:
    """When the file was last written to, on our clock: after the look before this one, at the latest now."""
    try:
        age = time.time_ns() - file.path.stat().st_mtime_ns
    except OSError:
        return now
    return max(file.looked, min(now, now - age))


def last_lines(paths: list[Path], count: int = 20) -> tuple[str, ...]:
    """The last lines of several files, the file that was written last at the end."""
    there = sorted((path for path in paths if path.is_file()), key=lambda path: path.stat().st_mtime_ns)
    tail: deque[str] = deque(maxlen=count)
    for path in there:
        size = path.stat().st_size
        tail.extend(_text(path, max(0, size - _BLOCK), size))
    return tuple(tail)


def _complete_size(file: _LogFile) -> int:
    """The size up to the last end of line: a line half written belongs to the next look."""
    try:
        size = file.path.stat().st_size
        if size <= file.seen:
            return size
        begin = max(file.seen, size - _BLOCK)
        with file.path.open("rb") as stream:
            stream.seek(begin)
            tail = stream.read(size - begin)
    except OSError:
        return file.seen
    if (end := tail.rfind(b"\n")) >= 0:
        return begin + end + 1
    return size if len(tail) == _BLOCK else file.seen


def _text(path: Path, first: int, last: int) -> list[str]:
    try:
        with path.open("rb") as stream:
            stream.seek(first)
            return stream.read(last - first).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
