"""Every node is stopped in good order and started again, one after the other: nothing is forgotten.

A clean stop writes all checkpoints, producer snapshots and indexes.
"""

from __future__ import annotations

from brokertrial.suites.situations.disturbed import Disturbed


class Stopped(Disturbed):
    """See above."""

    act = "stop"
    needs = ("terminate", "restart")
    forgets = ()


SITUATION = Stopped
