"""What a started broker goes through: ready, killed, paused, restarted, silent, stubborn, gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from brokertrial.suites.capabilities import FORGETTING
from brokertrial.suites.case import by_id
from brokertrial.suites.running.support import TargetSupport, unmet_need
from brokertrial.suites.targets import Target, TargetNotReady, processes, readiness
from brokertrial.suites.targets.process import ProcessNode
from tests.targets.conftest import MakeTarget, gone, tiny


def the_node(target: Target) -> ProcessNode:
    (node,) = target.nodes.values()
    assert isinstance(node, ProcessNode)
    return node


def serves(target: Target) -> bool:
    host, _, port = target.bootstrap.rpartition(":")
    try:
        readiness.ask((host, int(port)), timeout_s=0.5)
    except readiness.NotYet:
        return False
    return True


def until(what: str, holds: Callable[[], bool], within_s: float = 10) -> None:
    def question() -> None:
        if not holds():
            raise readiness.NotYet("it does not hold")

    readiness.wait_until(what, question, within_s, lambda: None)


def test_it_starts_serves_and_leaves_nothing(file_target: MakeTarget) -> None:
    with file_target(version=["echo", "tiny 1.0"]) as target:
        assert serves(target)
        assert target.alive()
        assert target.version() == "tiny 1.0"
        pid = the_node(target).pid
        assert pid is not None
    assert gone(pid)
    assert not serves(target)
    assert not (target.workdir / "data").exists()
    assert "serving on" in (target.workdir / "node-1.out").read_text()
    target.stop()


def test_a_killed_node_comes_back_on_its_port_with_its_data(file_target: MakeTarget) -> None:
    with file_target() as target:
        node = the_node(target)
        address, pid = node.address, node.pid
        node.kill()
        assert not node.alive() and not target.alive() and node.exit_status == -9
        node.restart()
        assert node.alive() and node.address == address and node.pid != pid
        assert (node.plan.folder / "starts").read_text() == "started\nstarted\n"


def test_a_node_that_is_asked_to_stop_does(file_target: MakeTarget) -> None:
    with file_target() as target:
        node = the_node(target)
        node.terminate()
        assert not node.alive() and node.ended_when_asked and node.exit_status == -15


def test_a_node_that_will_not_stop_is_killed_at_its_limit(file_target: MakeTarget) -> None:
    with file_target(start=tiny("--stubborn"), stop={"within_s": 0.3}) as target:
        node = the_node(target)
        node.terminate()
        assert not node.alive() and node.ended_when_asked is False and node.exit_status == -9


def test_a_paused_node_is_alive_but_silent(file_target: MakeTarget) -> None:
    with file_target() as target:
        node = the_node(target)
        node.pause()
        assert node.paused() and node.alive() and not target.alive() and not serves(target)
        node.resume()
        assert not node.paused() and target.alive() and serves(target)


def test_a_paused_node_can_be_killed_and_restarted(file_target: MakeTarget) -> None:
    with file_target() as target:
        node = the_node(target)
        node.pause()
        node.kill()
        assert not node.alive() and not node.paused()
        node.restart()
        assert serves(target)


def test_pausing_what_does_not_run_says_so(file_target: MakeTarget) -> None:
    with file_target() as target:
        node = the_node(target)
        node.kill()
        with pytest.raises(ProcessLookupError, match="does not run"):
            node.pause()


@pytest.mark.parametrize("trouble", ["kill", "pause"])
def test_recover_brings_everything_back(trouble: str, file_target: MakeTarget) -> None:
    with file_target() as target:
        getattr(the_node(target), trouble)()
        target.recover()
        assert target.alive() and serves(target)


def test_recover_replaces_a_node_that_runs_but_serves_no_more(
    file_target: MakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_PATIENCE_S", 0.5)
    with file_target() as target:
        pid = the_node(target).pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)  # frozen by somebody else: the target does not know
        target.recover()
        assert serves(target) and the_node(target).pid != pid


def test_a_target_that_nobody_stops_is_stopped_at_the_end_of_the_program(
    broker_file: Callable[..., str], tmp_path: Path
) -> None:
    text = broker_file(start=tiny(), before=[["touch", "up"]], after=[["rm", "up"]])
    code = "import sys, pathlib, brokertrial.suites.targets as t"
    code += "; x = t.open_target(sys.argv[1], pathlib.Path(sys.argv[2])); x.start()"
    code += "; print(next(iter(x.nodes.values())).pid)"
    command = [sys.executable, "-P", "-c", code, text, str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert gone(int(done.stdout)) and not (tmp_path / "up").exists()
    assert done.stderr == ""


def test_an_early_exit_ends_the_wait_at_once_with_the_last_20_lines(file_target: MakeTarget) -> None:
    target = file_target(start=tiny("--die", "no such disk"))
    begun = time.monotonic()
    with pytest.raises(TargetNotReady, match="exited with status 3") as refused:
        target.start()
    assert time.monotonic() - begun < 20, "the limit of 30 s was not waited for"
    assert refused.value.exit_status == 7
    assert refused.value.last_lines == tuple(f"no such disk {number}" for number in range(10, 30))
    assert "    | no such disk 29" in str(refused.value)


def test_a_broker_that_never_answers_names_the_deadline(file_target: MakeTarget) -> None:
    target = file_target(start=["sleep", "600", "{port}"], ready={"within_s": 0.5})
    # `sleep 600 PORT` sleeps for the sum: a process that runs and never listens.
    with pytest.raises(TargetNotReady, match=r"did not serve within 0\.5 s: .*cannot connect"):
        target.start()
    assert not target.alive()


def test_a_command_that_is_not_there_says_so(file_target: MakeTarget) -> None:
    with pytest.raises(TargetNotReady, match=r"`\./mybroker` cannot be run: No such file"):
        file_target(start=["./mybroker", "{port}"]).start()


def test_three_nodes_are_each_a_process_with_the_ids_that_metadata_gives(file_target: MakeTarget) -> None:
    with file_target(nodes=3, start=tiny("--all", "{peers}")) as target:
        assert sorted(target.nodes) == [100, 101, 102]
        assert [node.node_id for _, node in sorted(target.nodes.items())] == [100, 101, 102]
        assert len({node.pid for node in target.nodes.values()}) == 3
        assert {"nodes", "kill"} <= target.capabilities
        target.nodes[101].kill()
        assert target.nodes[100].alive() and not target.nodes[101].alive()
        target.nodes[101].restart()
        assert {line.node for line in target.log_lines(0, time.monotonic_ns())} == {100, 101, 102}


def test_one_process_for_all_nodes_has_none_that_can_be_hurt(file_target: MakeTarget) -> None:
    with file_target(nodes=3, process="all", start=tiny(ports="{ports}")) as target:
        assert target.nodes == {}
        assert "kill" not in target.capabilities and "nodes" in target.capabilities
        assert len(target.bootstrap.split(",")) == 3


def test_one_process_for_all_that_nobody_may_kill_is_waited_for(file_target: MakeTarget) -> None:
    with file_target(nodes=3, process="all", start=tiny(ports="{ports}"), health={"on_sick": "leave"}) as target:
        assert target.nodes == {} and not target.restartable
        (child,) = target._nodes.values()  # type: ignore[attr-defined]
        first = child.pid
        child.pause()
        assert not target.alive()
        target.recover()
        assert target.alive() and child.pid == first, "it was thawed, not started again"
        child.kill()
        target.recover()
        assert target.alive(), "what has ended by itself is started: nobody kills anything by that"


def test_commands_run_in_the_folder_that_is_named(file_target: MakeTarget, tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    more = {"cwd": "build", "before": [["sh", "-c", "pwd > before"]], "logs": ["broker.log"], "version": ["pwd"]}
    start = ["sh", "-c", 'echo told > broker.log; exec "$@"', "sh", *tiny()]
    with file_target(start=start, **more) as target:
        assert target.version() == str((tmp_path / "build").resolve())
        assert (tmp_path / "build" / "before").read_text().strip() == target.version()
        until("its log", lambda: any(line.text == "told" for line in target.log_lines(0, time.monotonic_ns())))


def test_one_that_keeps_nothing_is_not_asked_what_it_kept(file_target: MakeTarget) -> None:
    target = file_target(volatile=True)
    assert target.volatile and "pause" in target.capabilities and not FORGETTING & target.capabilities
    offer = TargetSupport({}, {}, target.capabilities, 1, volatile=True)
    for name, kind in (("produce/acked-survive-a-kill", "disclaimed"), ("produce/frozen-leader", None)):
        reason = unmet_need(by_id()[name], offer)
        assert (reason and reason.kind) == kind, name


def test_alarming_lines_are_found_in_their_window(file_target: MakeTarget) -> None:
    with file_target(alarm="panicked at") as target:
        node = the_node(target)
        before = time.monotonic_ns()
        assert target.alarms(0, before) == []
        (node.plan.folder / "panic").touch()
        assert serves(target)
        until("the alarm", lambda: bool(target.alarms(before, time.monotonic_ns())))
        (line,) = target.alarms(before, time.monotonic_ns())
        assert line.text == "thread main panicked at tiny_broker.py" and line.node == node.node_id
        assert before <= line.ns <= time.monotonic_ns()


def test_log_files_of_the_broker_are_read_and_outlive_its_data(file_target: MakeTarget) -> None:
    with file_target(logs=["{data}/broker.log"]) as target:
        until(
            "the line",
            lambda: any(line.text == "a line in a file" for line in target.log_lines(0, time.monotonic_ns())),
        )
    assert (target.workdir / "node-1-broker.log").read_text() == "a line in a file\n"


def test_before_and_after_frame_the_run(file_target: MakeTarget, tmp_path: Path) -> None:
    target = file_target(before=[["touch", "up"]], after=[["rm", "up"]])
    with target:
        assert (tmp_path / "up").exists()
    assert not (tmp_path / "up").exists()
    target.stop()


def test_what_before_leaves_running_is_not_waited_for(file_target: MakeTarget, tmp_path: Path) -> None:
    storage = ["sh", "-c", "sleep 300 & echo $! > storage"]  # it prints where its parent printed
    stopped = ["sh", "-c", "kill $(cat storage)"]
    began = time.monotonic()
    with file_target(before=[storage], after=[stopped]):
        pid = int((tmp_path / "storage").read_text())
        os.kill(pid, 0)
    assert time.monotonic() - began < 50


def test_after_runs_when_the_start_fails(file_target: MakeTarget, tmp_path: Path) -> None:
    target = file_target(start=tiny("--die", "x"), before=[["touch", "up"]], after=[["rm", "up"]])
    with pytest.raises(TargetNotReady):
        target.start()
    assert not (tmp_path / "up").exists()


def test_a_failing_before_says_which_and_what_it_printed(file_target: MakeTarget) -> None:
    with pytest.raises(TargetNotReady, match=r"before: `ls /no/such/place` ended with status") as refused:
        file_target(before=[["ls", "/no/such/place"]]).start()
    assert any("/no/such/place" in line for line in refused.value.last_lines)


def test_a_port_in_use_is_one_clear_sentence(file_target: MakeTarget) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(TargetNotReady, match=f"port {port} of node 1 is in use by another program") as refused:
            file_target(ports=[port]).start()
    assert refused.value.exit_status == 7


def test_a_port_taken_between_choice_and_use_is_chosen_again(
    file_target: MakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([[taken.getsockname()[1]]])
        from brokertrial.suites.targets import file
        from brokertrial.wire.ports import free_ports

        monkeypatch.setattr(file, "free_ports", lambda count: next(ports, None) or free_ports(count))
        with file_target() as target:
            assert serves(target)
