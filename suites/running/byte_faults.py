"""Whether a run needs a Toxiproxy, and where it has it from."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from brokertrial.faults.toxiproxy.toxic import ToxiproxyFailed
from brokertrial.suites.case import Case
from brokertrial.suites.targets import Target, TargetNotAvailable

if TYPE_CHECKING:  # loads the client library, which few runs need
    from brokertrial.suites.toxiproxy.toxiproxies import Toxiproxies

LOG = logging.getLogger("brokertrial.faults")
BYTES = frozenset({"bandwidth", "latency", "toxiproxy"})
"""What a target gains by a Toxiproxy in front of it."""


def toxiproxies_for(cases: Iterable[Case], target: Target, address: str | None) -> Toxiproxies | None:
    """The Toxiproxy of a run, if a case needs one; the target gains its capabilities.

    Where none can be had, cases that need it are not applicable; one that was named and does not answer ends the run:
    TargetNotAvailable.
    """
    if not any(BYTES.intersection(case.needs) for case in cases):
        return None
    from brokertrial.suites.toxiproxy.toxiproxies import Toxiproxies, ToxiproxyMissing

    try:
        toxiproxies = Toxiproxies.found(address)
    except ToxiproxyMissing as problem:
        LOG.warning("no Toxiproxy", extra={"why": str(problem)})
        return None
    except ToxiproxyFailed as problem:
        raise TargetNotAvailable(f"--toxiproxy {address}: {problem}") from problem
    target.capabilities |= toxiproxies.capabilities
    return toxiproxies


def lines_are_enough(case: Case, toxiproxies: Toxiproxies | None) -> bool:
    """Whether lines through a Toxiproxy do what a case asks for; else its nodes must live in a network."""
    wanted = BYTES.intersection(case.needs)
    return not wanted or (toxiproxies is not None and wanted <= toxiproxies.capabilities)
