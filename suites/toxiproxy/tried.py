"""Whether a Toxiproxy server counts the connections that end: tried with one connection to nobody."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

from brokertrial.faults.owners import owner
from brokertrial.faults.toxiproxy.client import Toxiproxy

COUNTED_WITHIN_S = 2.0


def counts_ended_connections(server: Toxiproxy) -> bool:
    """Sends one byte through a proxy and asks for the count of it; a server without -proxy-metrics has none."""
    name = f"{owner()}-tried"
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        place = server.create(name, nobody.getsockname()[:2], (server.host, 0))
        try:
            with socket.create_connection(place, timeout=COUNTED_WITHIN_S) as client:
                client.sendall(b"x")
            return _counted(server, name)
        except OSError:
            return False
        finally:
            server.remove(name)


def _counted(server: Toxiproxy, name: str) -> bool:
    deadline, pulse = time.monotonic() + COUNTED_WITHIN_S, threading.Event()
    while time.monotonic() < deadline:
        with contextlib.suppress(KeyError):
            return server.ended_bytes()[name] >= 1
        pulse.wait(0.02)
    return False
