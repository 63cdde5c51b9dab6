"""Which processes of ours serve a port: a broker that its supervisor brought back at once is another process.

Linux tells (/proc); elsewhere nothing is known, and nobody is found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
LISTENS = "0A"
SESSION, STARTED = 3, 19
"""Fields of /proc/PID/stat, counted from the one after the name."""

ListeningProcess = tuple[int, str]
"""A process, by its number and its start: a number may be given again."""


def listeners(port: int, session: int) -> frozenset[ListeningProcess]:
    """The processes of a session that hold a listening socket of this port."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port, session)}
    found = ((number, _stat(number)) for number in _numbers() if wanted)
    ours = [(number, stat) for number, stat in found if stat and stat[SESSION] == str(session)]
    return frozenset((number, stat[STARTED]) for number, stat in ours if wanted & set(_held(number)))


def all_gone(processes: frozenset[ListeningProcess]) -> bool:
    """Whether none of these runs any more."""
    return not any((stat := _stat(number)) and stat[STARTED] == start for number, start in processes)


def _inodes(port: int, session: int) -> Iterator[str]:
    """Of listening sockets in the network that the session's first process is in."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (PROC / str(session) / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _numbers() -> list[int]:
    with suppress(OSError):
        return [int(name) for name in os.listdir(PROC) if name.isdecimal()]
    return []


def _stat(number: int) -> list[str]:
    """The fields after the name; none of a process that is gone, or dead and not yet buried."""
    with suppress(OSError):
        fields = (PROC / str(number) / "stat").read_text().rpartition(")")[2].split()
        return [] if fields[0] in "ZX" else fields
    return []


def _held(number: int) -> Iterator[str]:
    with suppress(OSError):
        for entry in os.scandir(PROC / str(number) / "fd"):
            with suppress(OSError):
                yield os.readlink(entry.path)
