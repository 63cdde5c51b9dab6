"""Whether what is done to a node reaches its broker: who was killed, stopped or paused answers nobody.

A broker in a session of its own (a wrapper with `setsid`, a client of a container engine) outlives the end of the
process that was started for it, and a case under faults that disturbed nobody would pass.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Literal

from brokertrial.faults.node_control import NodeCommand, NodeControl, TakesSettings, UndoneByCommand
from brokertrial.faults.node_launch import StartsWithoutWaiting
from brokertrial.suites.targets.base import Target
from brokertrial.wire.addresses import all_parsed, written
from brokertrial.wire.client import CannotConnect, Connection, ConnectionFailed
from brokertrial.wire.codec import Malformed

ENDS_WITHIN_S = 10.0
"""After a kill or a stop: until a connection is refused, or nobody answers ApiVersions."""
CONNECTS_WITHIN_S = 1.0
ANSWERS_WITHIN_S = 2.0
"""For one request to a node that should be gone."""
PAUSED_S = 0.5
"""For so long a request to a paused node must stay without an answer."""
PAUSED_WITHIN_S = 3.0
"""After a pause: a command may return a little before its effect."""
BETWEEN_S = 0.05
OURS = "start the broker in the foreground (no daemon, no `setsid`), or give `[actions]` that reach it"
ELSEWHERE = "have the command of `[actions]` reach the broker itself"


OUT_OF_REACH = "out-of-reach"
"""The reason of an attempt that did something to a node which did not reach its broker: it proves nothing."""


class ActWithoutEffect(Exception):
    """What was done to a node did not reach its broker, which goes on: one sentence, with what to do about it."""


class CheckedNode:
    """A node of which a kill, a stop or a pause without effect raises ActWithoutEffect."""

    def __init__(self, node_control: NodeControl) -> None:
        self._node_control = node_control
        self.missed = ""
        """What was done to it without effect, in one sentence; the last of them."""

    @property
    def node_id(self) -> int:
        return self._node_control.node_id

    @property
    def address(self) -> tuple[str, int]:
        return self._node_control.address

    @property
    def pid(self) -> int | None:
        return self._node_control.pid

    @property
    def ended_when_asked(self) -> bool | None:
        found: bool | None = getattr(self._node_control, "ended_when_asked", None)
        return found

    def kill(self) -> None:
        self._end("killed", self._node_control.kill)

    def terminate(self) -> None:
        self._end("asked to stop", self._node_control.terminate)

    def pause(self) -> None:
        self._node_control.pause()
        if not _comes(lambda: not answers(self.address, PAUSED_S), PAUSED_WITHIN_S):
            raise self._without_effect("paused")

    def resume(self) -> None:
        self._node_control.resume()

    def restart(self) -> None:
        self._node_control.restart()

    def alive(self) -> bool:
        return self._node_control.alive()

    def paused(self) -> bool:
        return self._node_control.paused()

    def launch(self) -> None:
        if not isinstance(self._node_control, StartsWithoutWaiting):
            raise TypeError(f"node {self.node_id} cannot be started without waiting until it serves")
        self._node_control.launch()

    def choose(self, settings: Mapping[str, str]) -> None:
        if not isinstance(self._node_control, TakesSettings):
            raise TypeError(f"node {self.node_id} cannot be started with other settings")
        self._node_control.choose(settings)

    def undo_command(self, what: Literal["paused", "down"]) -> NodeCommand | None:
        return self._node_control.undo_command(what) if isinstance(self._node_control, UndoneByCommand) else None

    @property
    def _is_elsewhere(self) -> bool:
        return isinstance(self._node_control, UndoneByCommand)

    def _end(self, how: str, act: Callable[[], None]) -> None:
        """What is not a process of ours may have a supervisor that brings it back at once: then a connection that stood
        before has ended."""
        with _standing(self.address if self._is_elsewhere else None) as has_ended:
            act()
            if not _comes(lambda: has_ended() or not answers(self.address), ENDS_WITHIN_S):
                raise self._without_effect(how)

    def _without_effect(self, how: str) -> ActWithoutEffect:
        advice = ELSEWHERE if self._is_elsewhere else OURS
        self.missed = f"node {self.node_id} was {how}, and {written(*self.address)} still answers: {advice}"
        return ActWithoutEffect(self.missed)


def checked(node_controls: Mapping[int, NodeControl]) -> dict[int, CheckedNode]:
    """The same nodes, each act looked at."""
    return {number: CheckedNode(node_control) for number, node_control in node_controls.items()}


def answers(place: tuple[str, int], within_s: float = ANSWERS_WITHIN_S) -> bool:
    """Whether a request gets an answer there, whatever it says."""
    try:
        connection = Connection(*place, client_id="client", timeout_s=within_s)
    except CannotConnect:
        return False
    try:
        connection.offered()
    except Malformed:
        return True
    except ConnectionFailed:
        return False
    finally:
        connection.close()
    return True


def still_listening(target: Target) -> tuple[str, ...]:
    """Of a target that was stopped: a sentence on each port of what we had started on which a process still listens."""
    if "started" not in target.capabilities or not target.bootstrap:
        return ()
    return tuple(
        f"a process still listens on {written(*place)}, where this run had started a broker: end it"
        for place in all_parsed(target.bootstrap)
        if not _comes(partial(_is_free, place), ANSWERS_WITHIN_S)
    )


def _is_free(place: tuple[str, int]) -> bool:
    try:
        socket.create_connection(place, timeout=CONNECTS_WITHIN_S).close()
    except OSError:
        return True
    return False


@contextmanager
def _standing(place: tuple[str, int] | None) -> Iterator[Callable[[], bool]]:
    """A connection on which nothing is said; yields whether it has ended. Without a place, or a connection: never."""
    line: socket.socket | None = None
    if place is not None:
        with suppress(OSError):
            line = socket.create_connection(place, timeout=ANSWERS_WITHIN_S)
            line.setblocking(False)

    def has_ended() -> bool:
        if line is None:
            return False
        try:
            return line.recv(1) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    try:
        yield has_ended
    finally:
        if line is not None:
            line.close()


def _comes(holds: Callable[[], bool], within_s: float) -> bool:
    """Whether it holds by then; asked once at least."""
    deadline, pulse = time.monotonic() + within_s, threading.Event()
    while not holds():
        if time.monotonic() >= deadline:
            return False
        pulse.wait(BETWEEN_S)
    return True
