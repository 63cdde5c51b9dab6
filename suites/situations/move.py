"""Every leader goes to the next replica, and with it every coordinator: nobody stops, and nothing is forgotten.

What a leader or a coordinator keeps in memory alone is gone from where it is asked next.
"""

from __future__ import annotations

from brokertrial.suites.situations.disturbed import Disturbed


class Moved(Disturbed):
    """See above. All topics of the target are moved, so that it must be ours."""

    act = "move"
    needs = ("started", "three-nodes", "terminate", "restart")


SITUATION = Moved
