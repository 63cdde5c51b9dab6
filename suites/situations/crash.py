"""Every node is killed and started again, one after the other: what was acknowledged is still there.

The page cache survives a kill; what a broker keeps in memory does not. DeleteRecords is written to a
checkpoint by and by.
"""

from __future__ import annotations

from brokertrial.suites.situations.disturbed import Disturbed


class Crashed(Disturbed):
    """See above."""

    act = "crash"
    needs = ("kill", "restart")
    forgets = ("DeleteRecords",)


SITUATION = Crashed
