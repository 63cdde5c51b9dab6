"""A node that is hurt and healed by commands, because its process is not our child."""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from brokertrial.faults.node_control import NodeCommand
from brokertrial.suites.targets.base import TargetNotReady

COMMAND_WITHIN_S = 60


class CommandNode:
    """One node of a broker that runs elsewhere; `kill`, `pause`, `resume`, `restart` are commands of [actions].

    `answers` asks the node itself (no process can be looked at); `serves` waits until it does, with a deadline.
    """

    pid: int | None = None

    def __init__(
        self,
        node_id: int,
        address: tuple[str, int],
        actions: Mapping[str, Sequence[str]],
        folder: Path,
        answers: Callable[[CommandNode], bool],
        serves: Callable[[CommandNode], None],
    ) -> None:
        self.node_id = node_id
        self.address = address
        self._actions = actions
        self._folder = folder
        self._answers = answers
        self._serves = serves
        self._paused = False
        self._lock = threading.Lock()

    def kill(self) -> None:
        """Runs the command; returns when it has ended."""
        self._act("kill")
        self._paused = False

    def terminate(self) -> None:
        """There is no such action: only a restart stops such a node in an orderly way."""
        raise TargetNotReady(f"node {self.node_id} cannot be asked to stop: [actions] has no such command")

    def pause(self) -> None:
        """Runs the command; returns when it has ended."""
        self._act("pause")
        self._paused = True

    def resume(self) -> None:
        """Runs the command if the node is paused."""
        if self._paused:
            self._act("resume")
            self._paused = False

    def restart(self) -> None:
        """Runs the command and returns when the node serves."""
        self.resume()
        self._act("restart")
        self._serves(self)

    def undo_command(self, what: Literal["paused", "down"]) -> NodeCommand | None:
        """What undoes it when the suite is gone."""
        words = self._actions.get("resume" if what == "paused" else "restart")
        return NodeCommand(tuple(words), str(self._folder)) if words else None

    def alive(self) -> bool:
        """Whether it answers, or stands still by our own doing."""
        return self._paused or self._answers(self)

    def paused(self) -> bool:
        """Whether `pause` froze it."""
        return self._paused

    def _act(self, action: str) -> None:
        if action not in self._actions:
            raise TargetNotReady(f"node {self.node_id}: [actions] has no `{action}`")
        with self._lock:
            run(f"[actions] {action} of node {self.node_id}", self._actions[action], self._folder)


def run(what: str, command: Sequence[str], folder: Path, within_s: float = COMMAND_WITHIN_S) -> str:
    """Runs a command of the broker's file to its end and returns what it printed; TargetNotReady if it fails.

    What it starts in the background may go on, and print, after it has ended.
    """
    with tempfile.TemporaryFile() as printed:  # not a pipe: what the command leaves running would keep that open
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                timeout=within_s,
                start_new_session=True,
            )
        except OSError as error:
            raise TargetNotReady(f"{what}: `{command[0]}` cannot be run: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise TargetNotReady(f"{what}: `{' '.join(command)}` did not end within {within_s:g} s") from error
        printed.seek(0)
        said = printed.read().decode("utf-8", "replace")
    if done.returncode:
        lines = tuple(said.splitlines()[-20:])
        raise TargetNotReady(f"{what}: `{' '.join(command)}` ended with status {done.returncode}", last_lines=lines)
    return said
