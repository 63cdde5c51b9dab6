"""Whether this machine has a Toxiproxy, tried for real, for `brokertrial doctor`."""

from __future__ import annotations

from pathlib import Path

from brokertrial.checkers.linearizability.porcupine.build import installed_go
from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.toxiproxy import program
from brokertrial.suites.toxiproxy.server import ToxiproxyServer
from brokertrial.suites.toxiproxy.toxiproxies import Toxiproxies, ToxiproxyFailed, ToxiproxyMissing
from brokertrial.suites.toxiproxy.tried import counts_ended_connections

COST = "faults to bytes between clients and nodes are left out"
TAKES = f"it takes Go {program.OLDEST_GO} or newer, once, or --toxiproxy HOST:PORT"


def tried(address: str | None) -> tuple[bool | None, str]:
    """Whether it works, and what was seen; None where nothing was tried, for it would have to be built first."""
    if address is None and not program.is_there():
        if installed_go() is None:
            return False, f"{COST}; {TAKES}"
        return None, "Go builds it when a case first needs it: half a minute"
    try:
        if address is not None:
            return True, Toxiproxies.found(address).described
        with Scratch("toxiproxy") as folder, ToxiproxyServer(program.server(), Path(folder)) as server:
            counts = counts_ended_connections(server.client)
    except (ToxiproxyMissing, ToxiproxyFailed, ValueError) as problem:
        return False, f"{problem}; {COST}; {TAKES}"
    return counts, f"{program.VERSION}, tried" if counts else f"it does not count connections that ended; {COST}"
