"""Notices that a broker died although it is back by the time that somebody looks: a supervisor was quicker.

To each node one connection stands open on which nothing is ever said. That it ends is no proof: a broker may close what
is idle. That its port refuses a connection right after that is: whoever listened there is gone. So is it where every
process that listened there is gone, though another was there at once.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable

from brokertrial.histories.clock import now_ns
from brokertrial.suites.targets.listeners import ListeningProcess, all_gone

CONNECTS_WITHIN_S = 2.0
LOOKS_S = 1.0
"""For so long after its connection ended a node is looked at: a listener may outlive the thread that panicked."""
BETWEEN_LOOKS_S = 0.02

ServedPartition = tuple[str, int]
ServedBy = Callable[[ServedPartition], frozenset[ListeningProcess]]


class NodeWatcher(threading.Thread):
    """Holds a connection to one node; when it ends, looks whether anybody listens there."""

    def __init__(self, place: ServedPartition, served_by: ServedBy) -> None:
        super().__init__(name="death watch", daemon=True)
        self.place = place
        self._served_by = served_by(place)
        self._line = socket.create_connection(place, timeout=CONNECTS_WITHIN_S)
        self._line.settimeout(None)
        self._ended_by_us = False
        self._looked = threading.Event()
        self.ended_ns = 0
        """When its connection ended; 0 while it is open."""
        self.died = False

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while self._line.recv(4096):
                pass
        if not self._ended_by_us:
            self.ended_ns = now_ns()
            self.died = _is_gone(self.place, self._served_by)
        self._looked.set()
        self._line.close()

    @property
    def is_connected(self) -> bool:
        """Whether its connection is open."""
        return not self._looked.is_set() and not self._has_ended()

    @property
    def came_back(self) -> bool:
        """Whether its connection ended, by which nobody can be shown to have died."""
        return bool(self.ended_ns) and not self.saw_a_death()

    def saw_a_death(self) -> bool:
        """Whether the node died; waits a second where its connection has only just ended."""
        if self._has_ended():
            self._looked.wait(LOOKS_S + CONNECTS_WITHIN_S + 1)
        return self.died

    def stop(self) -> None:
        """Ends its connection, from our side."""
        self._ended_by_us = True
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def _has_ended(self) -> bool:
        if self.ended_ns or self._looked.is_set():
            return True
        try:
            return bool(select.select([self._line], [], [], 0)[0])
        except (OSError, ValueError):
            return True


class DeathWatch:
    """A watcher at each node; a death counts from the last call of `watch`.

    `served_by` tells the processes that listen at a place, where they are ours.
    """

    def __init__(self, served_by: ServedBy = lambda place: frozenset()) -> None:
        self._served_by = served_by
        self._watchers: list[NodeWatcher] = []

    def watch(self, places: Iterable[ServedPartition]) -> None:
        """Watches these nodes and no others; one that takes no connection is not watched."""
        wanted = dict.fromkeys(places)
        kept = [watcher for watcher in self._watchers if watcher.is_connected and watcher.place in wanted]
        for watcher in self._watchers:
            if watcher not in kept:
                watcher.stop()
        for place in wanted.keys() - {watcher.place for watcher in kept}:
            with contextlib.suppress(OSError):
                watcher = NodeWatcher(place, self._served_by)
                watcher.start()
                kept.append(watcher)
        self._watchers = kept

    def death_ns(self) -> int:
        """When the first node died since the last call of `watch`; 0 where none is known to have died."""
        return min((watcher.ended_ns for watcher in self._watchers if watcher.saw_a_death()), default=0)

    def cut_ns(self) -> int:
        """When the first connection ended of a node that lives; 0 where all of them stand."""
        return min((watcher.ended_ns for watcher in self._watchers if watcher.came_back), default=0)

    def stop(self) -> None:
        """Watches no node: what dies now was killed by us."""
        self.watch(())


def _is_gone(place: ServedPartition, served_by: frozenset[ListeningProcess]) -> bool:
    """Whether a connection is refused, now or in the next second, or whoever listened has ended; one that is only slow
    proves nothing."""
    pause = threading.Event()
    deadline = time.monotonic() + LOOKS_S
    while True:
        if served_by and all_gone(served_by):
            return True
        try:
            socket.create_connection(place, timeout=CONNECTS_WITHIN_S).close()
        except ConnectionRefusedError:
            return True
        except OSError:
            pass
        if time.monotonic() >= deadline:
            return False
        pause.wait(BETWEEN_LOOKS_S)
