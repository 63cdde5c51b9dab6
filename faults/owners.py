"""Who made something that can outlive a process of ours: a proxy of a server of others, a container.

Its name says which process that was, so that a later run removes what the dead have left, and nothing else.
"""

import hashlib
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from brokertrial.faults.journal import start_of

PREFIX = "brokertrial"


def owner() -> str:
    """How the names of what this process makes begin: `brokertrial-PLACE-PID-START`."""
    return f"{PREFIX}-{_place()}-{os.getpid()}-{_start(os.getpid())}"


def is_orphan(name: str) -> bool:
    """Whether a name begins as one of ours, and the process is gone that made it. Of other machines nobody knows."""
    words = name.split("-")
    if len(words) < 4 or words[:2] != [PREFIX, _place()] or not words[2].isdecimal():
        return False
    return _start(int(words[2])) != words[3]


@cache
def _place() -> str:
    """Where numbers of processes mean what they mean here: this start of this machine, or of this container."""
    parts = [os.uname().nodename]
    with suppress(OSError):  # Linux tells; elsewhere the name must do
        parts += [Path("/proc/sys/kernel/random/boot_id").read_text(), os.readlink("/proc/self/ns/pid")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _start(pid: int) -> str:
    return "".join(letter for letter in start_of(pid) or "" if letter.isalnum())
