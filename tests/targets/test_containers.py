"""Brokers in containers: started, hurt, brought back and gone, by a real engine.

Left out where none answers: no package brings one to a machine that may not run it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from brokertrial.faults.owners import is_orphan, owner
from brokertrial.suites.targets import Target, TargetNotAvailable, TargetNotReady, open_target, readiness
from brokertrial.suites.targets.containers import build, engine

pytestmark = pytest.mark.long

NAME = "brokertrial/reference:tested"
NODE = 'start = ["node", "--data", "{data}", "--node-id", "{node}", "--port", "{port}"]'


if not engine.answers():
    pytest.skip("no container engine answers", allow_module_level=True)
CLIENT = engine.engine()


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    yield build.bundled_image(NAME)
    CLIENT.images.remove(NAME, force=True)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[str], Target]]:
    """Opens (does not start) a target; nothing of it may be left after the test."""
    made: list[Target] = []

    def make(text: str) -> Target:
        made.append(open_target(text, tmp_path / f"run-{len(made)}"))
        return made[-1]

    yield make
    for target in made:
        target.stop()
    assert ours() == []


def ours() -> list[str]:
    return [
        each.name for each in CLIENT.containers.list(all=True, filters={"label": engine.LABEL}, ignore_removed=True)
    ]


def silent(place: tuple[str, int]) -> bool:
    try:
        readiness.ask(place, timeout_s=0.5)
    except readiness.NotYet:
        return True
    return False


def test_an_image_that_is_nowhere_is_named(opened: Callable[[str], Target]) -> None:
    with pytest.raises(TargetNotAvailable, match="brokertrial/nowhere:1 is not here, and cannot be pulled"):
        opened("image:brokertrial/nowhere:1").start()


def test_a_node_is_killed_paused_stopped_and_comes_back(image: str, opened: Callable[[str], Target]) -> None:
    target = opened(f"image:{image}?memory=256m&cpus=1.5")
    with target:
        assert target.capabilities >= {"kill", "terminate", "pause", "restart", "logs"} and target.alive()
        (node,) = target.nodes.values()
        (container,) = CLIENT.containers.list(filters={"label": engine.LABEL})
        assert container.attrs["HostConfig"]["Memory"] == 256 << 20
        assert container.attrs["HostConfig"]["NanoCpus"] == 1_500_000_000
        assert readiness.make_and_remove_topic([node.address], "before")
        node.pause()
        assert node.paused() and node.alive() and not target.alive() and silent(node.address)
        node.resume()
        readiness.ask(node.address, timeout_s=20)
        node.pause()
        node.kill()
        assert not node.alive() and silent(node.address)
        target.recover()
        assert target.alive()
        node.terminate()
        assert not node.alive() and node.ended_when_asked  # type: ignore[attr-defined]
        node.restart()
        target.restart()
        assert target.alive() and target.log_lines(0, time.monotonic_ns())
    assert ours() == []


def test_three_nodes_know_each_other(image: str, opened: Callable[[str], Target]) -> None:
    with opened(f"image:{image}?nodes=3") as target:
        assert sorted(readiness.ask(target.nodes[2].address, timeout_s=20).brokers) == [0, 2, 3] == sorted(target.nodes)
        target.nodes[0].kill()
        assert not target.alive() and 2 in readiness.ask(target.nodes[2].address, timeout_s=20).brokers


def test_another_vendors_image_is_told_by_a_file(image: str, tmp_path: Path, opened: Callable[[str], Target]) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(
        f'image = "{image}"\n{NODE}\nenvironment = {{ WHO = "node {{node}}" }}\nstop = {{ signal = "INT" }}\n'
        "[claims]\ntransactions = true\n"
    )
    with opened(f"image:{path}") as target:
        assert target.claims == {"transactions": True}
        (container,) = CLIENT.containers.list(filters={"label": engine.LABEL})
        assert "WHO=node 1" in container.attrs["Config"]["Env"]
        target.nodes[1].terminate()


def test_one_that_ends_at_once_is_told_with_its_last_words(
    image: str, tmp_path: Path, opened: Callable[[str], Target]
) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(f'image = "{image}"\nstart = ["node", "--no-such-option={{port}}"]\n')
    with pytest.raises(TargetNotReady, match=r"node 1 is exited \(status 2\) before it served") as refused:
        opened(f"image:{path}").start()
    assert any("arguments are required: --data" in line for line in refused.value.last_lines)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_nothing_is_left_of_a_suite_that_ends_early(image: str, tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-P", "-m", "brokertrial.suites.targets", f"image:{image}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as suite:
        assert suite.stdout is not None and "127.0.0.1:" in suite.stdout.readline() and len(ours()) == 1
        suite.send_signal(number)
    deadline = time.monotonic() + 20
    while ours():
        assert time.monotonic() < deadline, "a container is left"
        time.sleep(0.05)


def test_what_the_dead_have_left_is_found_and_removed(image: str) -> None:
    dead = f"{owner().rsplit('-', 2)[0]}-999999999-1"
    for label, name in ((dead, f"{dead}-1"), (owner(), f"{owner()}-1"), ("brokertrial-0f0f0f0f-1-1", "of-another")):
        CLIENT.containers.create(image, ["node"], name=name, labels={engine.LABEL: label})
    try:
        assert engine.left_behind(CLIENT) == [f"{dead}-1"] == engine.remove(CLIENT, is_orphan)
        assert len(ours()) == 2
    finally:
        engine.remove(CLIENT, lambda name: True)
    assert ours() == []
