"""A node as a child process: started, killed, paused and started again on the same port with the same data."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from brokertrial.faults.owners import owner
from brokertrial.suites.targets import reaper
from brokertrial.suites.targets.base import TargetNotReady
from brokertrial.suites.targets.effects import answers
from brokertrial.suites.targets.escaped import MARK, end_marked
from brokertrial.suites.targets.logs import LogWatch, last_lines
from brokertrial.wire.addresses import written

LOG = logging.getLogger("brokertrial.targets")


class NodeEnded(TargetNotReady):
    """A node ended by itself before it served."""


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """How one node is run. Its data go to `folder`; stdout and stderr are appended to over restarts."""

    command: Sequence[str]
    address: tuple[str, int]
    folder: Path
    run_in: Path  # the working folder
    stdout: Path
    stderr: Path
    logs: Sequence[Path] = ()  # files that it writes itself
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    stop_within_s: float = 30.0
    start_within_s: float = 60.0
    before_restart: Callable[[], None] | None = None  # waits until it may be started again
    only_starts: bool = False  # commands act on the broker, and the process may be but the way to start it
    setting: Sequence[str] = ()  # words of the command that give it a setting more: "{}" is NAME=VALUE


class ProcessNode:
    """A supervised process in a session and process group of its own; a victim for faults/.

    `serves` is the target's own question (asked again and again until it says yes): does this node serve?
    """

    def __init__(self, node_id: int, plan: LaunchPlan, serves: Callable[[ProcessNode], None], watch: LogWatch) -> None:
        self.node_id = node_id
        self.plan = plan
        self.ended_when_asked: bool | None = None
        self._chosen: Mapping[str, str] = {}
        self._serves = serves
        self._process: subprocess.Popen[bytes] | None = None
        self._group: int | None = None
        self._paused = False
        self._lock = threading.RLock()
        for path in self.log_files:
            watch.follow(node_id, path)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        return self.plan.address

    @property
    def log_files(self) -> list[Path]:
        """Everything that it writes to, stdout and stderr first."""
        return list(dict.fromkeys([self.plan.stdout, self.plan.stderr, *self.plan.logs]))

    @property
    def exit_status(self) -> int | None:
        """How it ended (minus the signal's number for a kill), or None while it runs or before it ever did."""
        return None if self._process is None else self._process.poll()

    @property
    def pid(self) -> int | None:
        """Its process, while it runs."""
        return self._process.pid if self._process is not None and self.alive() else None

    def launch(self) -> None:
        """Starts the process and returns at once. Raises TargetNotReady if the command cannot be run at all."""
        with self._lock:
            if self.alive():
                return
            self._clear_group()
            if self._process is not None and not self.plan.only_starts:
                self._clear_port()
            if self._process is not None and self.plan.before_restart is not None:
                self.plan.before_restart()
            self._paused = False
            command = [*self.plan.command, *self._chosen_words()]
            self.plan.folder.mkdir(parents=True, exist_ok=True)
            with self.plan.stdout.open("ab") as out, self.plan.stderr.open("ab") as err:
                try:
                    self._process = subprocess.Popen(
                        command,
                        cwd=self.plan.run_in,
                        env={**os.environ, **self.plan.environment, MARK: self._mark},
                        stdin=subprocess.DEVNULL,
                        stdout=out,
                        stderr=err,
                        start_new_session=True,
                    )
                except OSError as error:
                    raise TargetNotReady(f"`{self.plan.command[0]}` cannot be run: {error.strerror}") from error
            self._group = self._process.pid
            reaper.watch(self._group)
            self._note("node is started", command=command)

    def choose(self, settings: Mapping[str, str]) -> None:
        """What the broker is started with from its next start on, besides what its plan says."""
        if settings and not self.plan.setting:
            raise TargetNotReady(f"node {self.node_id} cannot be started with other settings")
        self._chosen = dict(settings)

    def _chosen_words(self) -> list[str]:
        given = [f"{name}={value}" for name, value in self._chosen.items()]
        return [word.format(each) for each in given for word in self.plan.setting]

    def wait_until_it_serves(self) -> None:
        """Returns when the node serves; a process that ends before that is TargetNotReady at once."""
        self._serves(self)

    def must_run(self) -> None:
        """Raises NodeEnded with the last 20 log lines if the process has ended."""
        status = self.exit_status
        if status is not None:
            ended = f"was ended by signal {-status}" if status < 0 else f"exited with status {status}"
            raise NodeEnded(f"node {self.node_id} {ended} before it served", last_lines=last_lines(self.log_files))

    def kill(self) -> None:
        """As `kill -9` of all its processes; returns when they are gone."""
        with self._lock:
            self._clear_group()
            if self._process is not None:
                self._process.wait(timeout=30)
            self._paused = False
            self._note("node is gone", status=self.exit_status)

    def ask_to_stop(self) -> None:
        """Sends the signal that stops it in an orderly way, and returns at once."""
        with self._lock:
            if self.alive():
                self.resume()
                self._note("node is asked to stop")
                with contextlib.suppress(ProcessLookupError):
                    self._signal(self.plan.stop_signal)

    def terminate(self) -> None:
        """Asks it to stop and waits; kills it after its time limit. `ended_when_asked` says which it was."""
        with self._lock:
            if self._process is None or not self.alive():
                return
            self.ask_to_stop()
            try:
                self._process.wait(timeout=self.plan.stop_within_s)
                self.ended_when_asked = True
            except subprocess.TimeoutExpired:
                self.ended_when_asked = False
            self.kill()

    def pause(self) -> None:
        """Freezes all its processes; returns when the first of them is seen to stand still."""
        with self._lock:
            self._note("node is frozen")
            self._signal(signal.SIGSTOP)
            self._paused = True
            self._wait_for_state(stopped=True)

    def resume(self) -> None:
        """Thaws what pause froze."""
        with self._lock:
            if self._paused:
                self._note("node is thawed")
                self._signal(signal.SIGCONT)
                self._paused = False
                self._wait_for_state(stopped=False)

    def restart(self) -> None:
        """Stops it if it runs, starts it on its port with its data, and returns when it serves."""
        with self._lock:
            self.terminate()
            self.launch()
        self.wait_until_it_serves()

    def alive(self) -> bool:
        """Whether the process exists, paused or not."""
        return self._process is not None and self._process.poll() is None

    def paused(self) -> bool:
        """Whether it is frozen by `pause`."""
        return self._paused and self.alive()

    def end_escaped(self) -> None:
        """Ends what it started and is not in its process group any more, such as a broker in a session of its own."""
        end_marked(self._mark, self.plan.stop_signal, self.plan.stop_within_s)

    def _clear_port(self) -> None:
        """What it started may serve on although it was killed itself; then it could not be started again."""
        if answers(self.address):
            self.end_escaped()
            if answers(self.address):
                place = written(*self.address)
                raise TargetNotReady(
                    f"node {self.node_id} cannot be started again: a process out of reach serves {place}"
                )

    @property
    def _mark(self) -> str:
        return f"{owner()}-{self.address[1]}"

    def _note(self, message: str, **fields: object) -> None:
        LOG.info(message, extra={"node": self.node_id, "node_pid": self._process and self._process.pid, **fields})

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None or not self.alive():
            raise ProcessLookupError(f"node {self.node_id} does not run")
        os.killpg(self._process.pid, number)

    def _clear_group(self) -> None:
        """Kills whatever is left of the process group, the first process included."""
        if self._group is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, signal.SIGKILL)
        reaper.forget(self._group)
        self._group = None  # its number may belong to somebody else from now on

    def _wait_for_state(self, *, stopped: bool) -> None:
        """A signal is on its way when kill returns; waits (at most 5 s, where /proc tells) until it has arrived."""
        assert self._process is not None
        stat = Path(f"/proc/{self._process.pid}/stat")
        deadline = time.monotonic() + 5
        pulse = threading.Event()
        while time.monotonic() < deadline:
            try:
                state = stat.read_text().rpartition(")")[2].split()[0]
            except OSError:
                return
            if (state in "Tt") is stopped:
                return
            pulse.wait(0.002)
