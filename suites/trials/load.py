"""Whether the load of a trial still leads anywhere: a target that died, or that answers nobody, is not asked for long.

It only ends the disturbed part early. What is said of the target is found after the heal, with the patience that every
target gets.
"""

from __future__ import annotations

from typing import Protocol

from brokertrial.histories.clock import now_ns
from brokertrial.suites.trials.clients import Clients
from brokertrial.suites.trials.context import TrialContext

QUIET_S = 12.0
"""Without one acknowledgement of anything, while no node is held down by a fault."""
LOOK_S, LOOKS = 0.5, 3
"""A target that is found dead so often is."""


class Faults(Protocol):
    """What a schedule at work is asked."""

    @property
    def active(self) -> list[str]: ...

    @property
    def holds_a_node(self) -> bool: ...


class Load:
    """Asked again and again while the faults are at work."""

    def __init__(self, clients: Clients, trial_context: TrialContext) -> None:
        self._clients = clients
        self._ground = trial_context
        self._acked = -1
        self._moved_ns = now_ns()
        self._disturbed_ns = now_ns()
        self._looked_ns = 0
        self._found_dead = 0
        self.undisturbed_since_ns = 0
        """When it led nowhere: since when that had been so, without any fault."""

    def leads_nowhere(self, faults: Faults) -> bool:
        """Whether the target is dead, or was silent to everybody for long, by no fault that holds a node down."""
        now, held = now_ns(), faults.holds_a_node
        if held:
            self._moved_ns = now
        if faults.active:
            self._disturbed_ns = now
        if self.is_silent():
            since_ns = max(self._moved_ns, self._disturbed_ns)
            self.undisturbed_since_ns = since_ns if since_ns < now else 0
            return True
        return self.died(held)

    def recovery_began_ns(self) -> int:
        """Everything is healed: since when nothing is in the way, which may have been before."""
        since_ns = self.undisturbed_since_ns or now_ns()
        self._moved_ns = since_ns
        return since_ns

    def is_silent(self) -> bool:
        """Whether nothing at all has been acknowledged for long."""
        now = now_ns()
        if self._clients.acked != self._acked:
            self._acked, self._moved_ns = self._clients.acked, now
        return now - self._moved_ns > self._ground.limit(QUIET_S) * 1e9

    @property
    def found_dead(self) -> bool:
        """Whether the target was found dead the last times that it was looked at, by no fault."""
        return self._found_dead >= LOOKS

    def died(self, held: bool = False) -> bool:
        """Whether the target is found dead again and again, and no fault holds a node down."""
        now = now_ns()
        if held:
            self._found_dead = 0
        elif now - self._looked_ns > LOOK_S * 1e9:
            self._looked_ns = now
            self._found_dead = 0 if self._ground.alive() else self._found_dead + 1
        return self._found_dead >= LOOKS
