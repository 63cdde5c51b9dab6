"""Notices that a broker died although it is back by the time that somebody looks: a supervisor was quicker.

To each node one connection stands open on which nothing is ever said. That it ends is no proof: a broker may close what
is idle. That its port refuses a connection right after that is: whoever listened there is gone.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterable

from histories.clock import now_ns

CONNECTS_WITHIN_S = 2.0
LOOKS_S = 1.0
"""For so long after its connection ended a node is looked at: a listener may outlive the thread that panicked."""
BETWEEN_LOOKS_S = 0.02

Place = tuple[str, int]


class Sentry(threading.Thread):
    """Stands at one node until its connection ends, and then looks whether anybody listens there."""

    def __init__(self, place: Place) -> None:
        super().__init__(name="sentry", daemon=True)
        self.place = place
        self._line = socket.create_connection(place, timeout=CONNECTS_WITHIN_S)
        self._line.settimeout(None)
        self._dismissed = False
        self._understood = threading.Event()
        self.ended_ns = 0
        """When its connection ended; 0 while it stands."""
        self.died = False

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while self._line.recv(4096):
                pass
        if not self._dismissed:
            self.ended_ns = now_ns()
            self.died = _refuses(self.place)
        self._understood.set()
        self._line.close()

    @property
    def stands(self) -> bool:
        """Whether its connection is open."""
        return not self._understood.is_set() and not self._has_ended()

    def saw_a_death(self) -> bool:
        """Whether the node died; waits a second where its connection has only just ended."""
        if self._has_ended():
            self._understood.wait(LOOKS_S + CONNECTS_WITHIN_S + 1)
        return self.died

    def dismiss(self) -> None:
        """Ends its connection, from our side."""
        self._dismissed = True
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def _has_ended(self) -> bool:
        if self.ended_ns or self._understood.is_set():
            return True
        try:
            return bool(select.select([self._line], [], [], 0)[0])
        except (OSError, ValueError):
            return True


class Watch:
    """A sentry at each node; a death counts from when they were posted."""

    def __init__(self) -> None:
        self._sentries: list[Sentry] = []

    def post(self, places: Iterable[Place]) -> None:
        """Sees to it that a sentry stands at each of these nodes, and nowhere else; where none can, none does."""
        wanted = dict.fromkeys(places)
        standing = [sentry for sentry in self._sentries if sentry.stands and sentry.place in wanted]
        for sentry in self._sentries:
            if sentry not in standing:
                sentry.dismiss()
        for place in wanted.keys() - {sentry.place for sentry in standing}:
            with contextlib.suppress(OSError):
                sentry = Sentry(place)
                sentry.start()
                standing.append(sentry)
        self._sentries = standing

    def death_ns(self) -> int:
        """When the first node died since the sentries were posted; 0 where none is known to have died."""
        return min((sentry.ended_ns for sentry in self._sentries if sentry.saw_a_death()), default=0)

    def dismiss(self) -> None:
        """Nobody stands anywhere: what dies now was killed by us."""
        self.post(())


def _refuses(place: Place) -> bool:
    """Whether a connection is refused, now or in the next second; one that is only slow proves nothing."""
    pause = threading.Event()
    deadline = time.monotonic() + LOOKS_S
    while True:
        try:
            socket.create_connection(place, timeout=CONNECTS_WITHIN_S).close()
        except ConnectionRefusedError:
            return True
        except OSError:
            pass
        if time.monotonic() >= deadline:
            return False
        pause.wait(BETWEEN_LOOKS_S)
