"""How many files and connections this process may have open."""

from __future__ import annotations

import resource

_KEPT_FOR_FILES = 4  # one descriptor in so many is never a client's, so that logs can still be opened


def raise_limit() -> None:
    """Takes what the system grants at most, as a JVM does: shells often start processes with 1024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most_connections() -> int:
    """How many clients leave enough descriptors for the logs."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft - soft // _KEPT_FOR_FILES if soft != resource.RLIM_INFINITY else 1 << 31
