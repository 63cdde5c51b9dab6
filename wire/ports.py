"""Free ports that stay free while a node is down for a restart."""

from __future__ import annotations

import itertools
import os
import socket
from pathlib import Path

_LOWEST = 15_000
_turn = itertools.count()


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """As many different ports that nobody listens on.

    They lie below the range from which the kernel takes the ports of outgoing connections: a client that knocks at a
    stopped node again and again would otherwise, sooner or later, be given that very port, connect to itself, keep it.
    """
    highest = _first_outgoing_port()
    span = highest - _LOWEST
    found: list[int] = []
    for step in range(span):
        # Two runs side by side begin at different places: what is free now is still free when the node starts.
        port = _LOWEST + (os.getpid() * 53 + next(_turn) * 7 + step) % span
        if port not in found and is_free(port, host):
            found.append(port)
            if len(found) == count:
                return found
    raise OSError(f"no {count} free ports between {_LOWEST} and {highest}")


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a listener can be put there now."""
    with socket.socket() as probe:
        # As the brokers do: a connection of an earlier run that still waits for its end is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _first_outgoing_port() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        return 32_768
