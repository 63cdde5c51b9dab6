"""Schedules at work: windows open when their time comes, bite, and are healed whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from brokertrial.faults.apply import applied
from brokertrial.faults.clock import OperationClock
from brokertrial.faults.journal import JOURNALS, FaultJournal, heal, heal_run, pending, start_of
from brokertrial.faults.kinds.drop_request import drop_request
from brokertrial.faults.kinds.error_instead import error_instead
from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.kinds.pause import pause
from brokertrial.faults.kinds.restart import restart
from brokertrial.faults.kinds.terminate import terminate
from brokertrial.faults.node_control import NodeCommand, NodeControl
from brokertrial.faults.proxy_process import FaultProxy
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import AT_HEAL, after, at_op, elapsed, message
from brokertrial.histories.rows import Event
from brokertrial.wire.messages import request


class Sleeper:
    """A node that is a process of ours which does nothing."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.address = ("127.0.0.1", 1)
        self.restarts = -1
        self.restart()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def terminate(self) -> None:
        self._process.terminate()
        self._process.wait()

    def pause(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def restart(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        self.restarts += 1

    def alive(self) -> bool:
        return self._process.poll() is None

    def paused(self) -> bool:
        return self.alive() and state_of(self._process.pid) == "T"

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()


class Notes:
    """A history that is a list."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def add(self, row: Any) -> None:
        self.rows.append(row)

    def event(self, kind: str, **fields: Any) -> None:
        at = fields.pop("at_ns", 0)
        window, node = fields.pop("window", None), fields.pop("node", None)
        self.rows.append(Event(kind=kind, at_ns=at, window=window, node=node, fields=json.dumps(fields)))

    def kinds(self, window: str) -> list[str]:
        return [row.kind for row in self.rows if getattr(row, "window", None) == window]


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_until(condition: Any, what: str, within_s: float = 10.0) -> None:
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, f"waited {within_s} s until {what}"
        time.sleep(0.005)


@pytest.fixture
def node_controls() -> Iterator[dict[int, Sleeper]]:
    made = {1: Sleeper(1), 2: Sleeper(2)}
    assert isinstance(made[1], NodeControl)
    yield made
    for node_control in made.values():
        node_control.end()


def test_each_process_kind_bites_and_is_undone(links: Any, node_controls: Any) -> None:
    schedule = Windows(
        pause(1, begin=at_op(2), end=at_op(4)),
        kill(2, begin=at_op(4), end=after("f2", delay_ms=50)),
        terminate(2, begin=after("f2", "end"), end=at_op(6)),
        restart(1, begin=after("f3", "end")),
    )
    notes, clock = Notes(), OperationClock()
    with applied(schedule, links, node_controls, notes, clock) as faults:
        assert faults.active == []
        clock.tick(), clock.tick()
        wait_until(lambda: node_controls[1].paused(), "node 1 stands still")
        assert faults.active == ["at op 2: pause node 1, until op 4"]
        clock.tick(), clock.tick()
        wait_until(lambda: not node_controls[1].paused(), "node 1 goes on")
        wait_until(lambda: "window-begin" in notes.kinds("f3"), "node 2 was killed, restarted, terminated")
        assert node_controls[2].restarts == 1 and not node_controls[2].alive()
        clock.tick(), clock.tick()
        wait_until(lambda: node_controls[1].restarts == 1, "node 1 is restarted")
        wait_until(lambda: faults.finished, "all windows have come")
    assert faults.unhealed == {} and faults.failed == {}
    assert faults.hits == {"f1": 1, "f2": 1, "f3": 1, "f4": 1}
    assert node_controls[2].restarts == 2
    assert notes.kinds("f1") == ["window-begin", "hit", "window-end", "window-healed"]


def test_all_followers_are_one_window_and_a_shared_node_goes_on_with_the_last(
    fake: Any, links: Any, connect: Any, node_controls: Any
) -> None:
    connect().call(request("Metadata", topics=[{"name": "roles"}]), 9)
    node_controls[3] = node_controls[1]
    schedule = Windows(
        pause("followers(roles,1)", begin=at_op(1), end=at_op(3)),
        pause(1, begin=at_op(2), end=at_op(4)),
        kill("leader(roles,1)", begin=after("f1"), end=at_op(5)),
    )
    notes, clock = Notes(), OperationClock()
    with applied(schedule, links, node_controls, notes, clock) as faults:
        clock.tick()
        wait_until(lambda: not node_controls[2].alive(), "the leader is dead")
        clock.tick()
        wait_until(lambda: "hit" in notes.kinds("f2"), "node 1 is frozen twice")
        clock.tick()
        wait_until(lambda: "window-end" in notes.kinds("f1"), "the first window is over")
        assert node_controls[1].paused()
        clock.tick()
        wait_until(lambda: not node_controls[1].paused(), "node 1 goes on")
        clock.tick()
        wait_until(lambda: faults.finished, "all windows are over")
    assert faults.unhealed == {} and faults.failed == {} and faults.hits == {"f1": 2, "f2": 1, "f3": 1}
    begun = next(row for row in notes.rows if row.window == "f1" and row.kind == "window-begin")
    assert json.loads(begun.fields)["nodes"] == [1, 3] and begun.node is None
    assert [row.node for row in notes.rows if row.window == "f1" and row.kind == "hit"] == [1, 3]


def test_everything_is_healed_when_the_block_raises(links: Any, node_controls: Any, connect: Any) -> None:
    schedule = Windows(
        pause(1),
        kill(2),
        error_instead("NOT_COORDINATOR", api="Heartbeat"),
    )
    notes = Notes()
    with (
        pytest.raises(KeyboardInterrupt),
        applied(schedule, links, node_controls, notes, OperationClock()) as faults,
    ):
        wait_until(lambda: len(faults.active) == 3, "all three are open")
        assert connect().call(request("Heartbeat"), 0).error_code == 16
        assert node_controls[1].paused() and not node_controls[2].alive()
        raise KeyboardInterrupt
    assert not node_controls[1].paused() and node_controls[2].alive()
    assert links.state()["open"] == [] and faults.unhealed == {}
    assert faults.hits["f3"] == 1
    assert [row.window for row in notes.rows if row.kind == "window-healed"] == ["f1", "f2", "f3"]


def test_a_message_opens_a_window_that_hits_it(fake: Any, links: Any, connect: Any) -> None:
    schedule = Windows(
        error_instead("NOT_COORDINATOR", api="Heartbeat", times=1, begin=message(3, api="Heartbeat", client="p*")),
        drop_request(api="LeaveGroup", begin=at_op(1_000_000)),
    )
    notes = Notes()
    with applied(schedule, links, {}, notes, OperationClock()) as faults:
        client = connect()
        assert [client.call(request("Heartbeat"), 0).error_code for _ in range(5)] == [0, 0, 16, 0, 0]
        assert not faults.finished
    assert faults.hits == {"f1": 1, "f2": 0}
    assert notes.kinds("f1") == ["window-begin", "hit", "window-end", "window-healed"]
    assert notes.kinds("f2") == []


def test_a_message_disturbs_a_node_and_ends_a_window(fake: Any, links: Any, connect: Any, node_controls: Any) -> None:
    schedule = Windows(
        pause(1, begin=message(2, api="Heartbeat"), end=elapsed(1e9)),
        error_instead("NOT_COORDINATOR", api="ListGroups", end=message(1, api="Heartbeat", node=2)),
    )
    notes = Notes()
    with applied(schedule, links, node_controls, notes, OperationClock()) as faults:
        client = connect(2)
        wait_until(lambda: len(faults.active) == 1, "f2 is open")
        assert client.call(request("ListGroups"), 0).error_code == 16
        client.call(request("Heartbeat"), 0)
        assert client.call(request("ListGroups"), 0).error_code == 0
        client.call(request("Heartbeat"), 0)
        wait_until(lambda: node_controls[1].paused(), "node 1 stands still")
    assert not node_controls[1].paused()
    assert faults.hits == {"f1": 1, "f2": 1}


def test_a_node_nobody_knows_is_told_of(links: Any, node_controls: Any) -> None:
    schedule = Windows(kill("leader(nowhere,0)"), kill(9), pause("any"))
    notes = Notes()
    with applied(schedule, links, node_controls, notes, OperationClock()) as faults:
        wait_until(lambda: faults.finished, "all have been tried")
    assert set(faults.failed) == {"f1", "f2"}
    assert "has not been observed yet" in faults.failed["f1"]
    assert faults.hits == {"f1": 0, "f2": 0, "f3": 1}


def test_a_node_that_cannot_be_healed_is_told_of(links: Any, node_controls: Any) -> None:
    node_controls[1].restart = lambda: (_ for _ in ()).throw(RuntimeError("it does not start: port taken"))
    with applied(Windows(kill(1)), links, node_controls, Notes(), OperationClock()) as faults:
        wait_until(lambda: faults.active, "it is down")
    assert faults.unhealed == {"f1": "node 1 is not running."}


def test_a_crash_of_the_suite_leaves_a_journal_that_heals(tmp_path: Path, node_controls: Any) -> None:
    journal = tmp_path / "journal.jsonl"
    noted = FaultJournal(journal)
    noted.will("f1", "paused", node_controls[1])
    node_controls[1].pause()
    noted.will("f2", "down", node_controls[2])
    noted.will("f3", "paused", node_controls[2])
    noted.undone("f2")
    with journal.open("ab") as file:
        file.write(b'{"done":{"window":"f4","wh')  # the crash
    assert [entry.window for entry in pending(journal)] == ["f3", "f1"]
    said = heal(journal)
    assert len(said) == 2 and "goes on" in said[1]
    wait_until(lambda: not node_controls[1].paused(), "node 1 goes on")
    assert not journal.exists() and heal(journal) == []


def test_what_a_command_did_is_undone_by_a_command(tmp_path: Path) -> None:
    (tmp_path / "frozen").touch()
    node = SimpleNamespace(node_id=3, pid=None)
    node.undo_command = {"paused": NodeCommand(("rm", "frozen"), str(tmp_path)), "down": None}.get
    with FaultJournal(tmp_path / JOURNALS / "case.jsonl") as noted:
        noted.will("f1", "paused", node)
        noted.will("f2", "down", node)
    said = heal_run(tmp_path)
    assert "undo it there" in said[0] and said[1].endswith("`rm frozen` has undone it.")
    assert not (tmp_path / "frozen").exists()
    assert heal_run(tmp_path) == []


def test_a_journal_never_touches_a_foreign_process(tmp_path: Path, node_controls: Any) -> None:
    journal = tmp_path / "journal.jsonl"
    started = start_of(node_controls[1].pid)
    assert started is not None
    entry = {"window": "w", "what": "paused", "node": 1, "pid": node_controls[1].pid, "started": started + "1"}
    journal.write_text(json.dumps({"done": entry}) + "\n")
    node_controls[1].pause()
    wait_until(lambda: node_controls[1].paused(), "it stands still")
    assert "is gone" in heal(journal)[0]
    assert node_controls[1].paused()
    node_controls[1].resume()


def test_the_journal_of_a_healed_schedule_is_gone(fake: Any, node_controls: Any, tmp_path: Path) -> None:
    journal = tmp_path / "run" / "journal.jsonl"
    with FaultProxy.start([("127.0.0.1", fake.ports[1])], journal=journal) as links:
        with applied(Windows(pause(1, end=AT_HEAL)), links, node_controls, Notes(), OperationClock()):
            wait_until(lambda: node_controls[1].paused(), "node 1 stands still")
            assert [entry.what for entry in pending(journal)] == ["paused"]
        assert not journal.exists()


def test_any_draws_the_same_node_from_the_same_seed(links: Any, node_controls: Any) -> None:
    def drawn(seed: int) -> int:
        with applied(
            Windows(pause("any"), seed=seed), links, node_controls, notes := Notes(), OperationClock()
        ) as faults:
            wait_until(lambda: faults.active, "it is open")
        return int(next(row.node for row in notes.rows if row.kind == "window-begin"))

    assert drawn(1) == drawn(1)


def test_the_proxy_ends_with_whoever_started_it(fake: Any) -> None:
    code = (
        "import os, sys; from brokertrial.faults.proxy_process import FaultProxy\n"
        f"links = FaultProxy.start([('127.0.0.1', {fake.ports[1]})])\n"
        "print(links._process.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    pid = int(done.stdout)
    wait_until(lambda: start_of(pid) is None or state_of(pid) == "Z", "the proxy is gone")
