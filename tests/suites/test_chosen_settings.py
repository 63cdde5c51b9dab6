"""Nodes that a case starts with other settings: one at a time, and as they were at its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from brokertrial.suites.probe.nodes import Nodes
from brokertrial.suites.probe.topic_view import LastShown
from brokertrial.suites.targets.base import TargetNotReady
from brokertrial.suites.targets.logs import LogWatch
from brokertrial.suites.targets.process import LaunchPlan, ProcessNode

OFTEN = {"some.check.interval.ms": "500"}


class FakeNode:
    """Notes what is done to it, and how many of its cluster were down then."""

    def __init__(self, number: int, cluster: list[FakeNode], said: list[str]) -> None:
        self.number, self.cluster, self.said, self.up = number, cluster, said, True
        self.chosen: dict[str, str] = {}
        cluster.append(self)

    def choose(self, settings: Mapping[str, str]) -> None:
        self.chosen = dict(settings)

    def terminate(self) -> None:
        self.up = False

    def restart(self) -> None:
        assert sum(not node.up for node in self.cluster) == 1, "the others must be there"
        self.up = True
        self.said.append(f"{self.number} {self.chosen}")


class NoTape:
    def act(self, _what: str, do: Callable[[], str]) -> str:
        return do()


class OneWire:
    nodes = (1, 2, 3)

    def __init__(self) -> None:
        self.chosen_settings: set[str] = set()
        self.last_shown = LastShown()
        self.kept: list[BaseException] = []

    def drop_lines(self, _node: int) -> None:
        """There are none."""


def made(said: list[str]) -> tuple[Nodes, list[FakeNode]]:
    cluster: list[FakeNode] = []
    controls = {number: FakeNode(number, cluster, said) for number in OneWire.nodes}
    return Nodes(cast(Any, OneWire()), cast(Any, NoTape()), cast(Any, controls)), cluster


def test_each_is_started_with_them_and_without_them_at_the_end() -> None:
    said: list[str] = []
    nodes, _ = made(said)
    nodes.start_with(OFTEN)
    assert said == [f"{number} {OFTEN}" for number in OneWire.nodes]
    said.clear()
    nodes.heal()
    assert said == [f"{number} {{}}" for number in OneWire.nodes]


def test_one_that_is_down_comes_first() -> None:
    said: list[str] = []
    nodes, _ = made(said)
    nodes.start_with(OFTEN)
    nodes.terminate(2)
    said.clear()
    nodes.heal()
    assert said == ["2 {}", "1 {}", "3 {}"]


def test_a_case_that_took_them_back_leaves_nothing_to_do() -> None:
    said: list[str] = []
    nodes, _ = made(said)
    nodes.start_with(OFTEN)
    nodes.start_with({})
    said.clear()
    nodes.heal()
    assert said == []


def test_a_process_is_given_the_words_of_its_plan(tmp_path: Path) -> None:
    words = ["/bin/sh", "-c", 'echo "$@" > said; exec sleep 60', "x"]
    plan = LaunchPlan(words, ("127.0.0.1", 1), tmp_path, tmp_path, tmp_path / "out", tmp_path / "err")
    watch = LogWatch()

    def serves(_node: ProcessNode) -> None:
        deadline = time.monotonic() + 10
        while not (tmp_path / "said").exists() or not (tmp_path / "said").read_text():
            assert time.monotonic() < deadline, "it did not start"
            time.sleep(0.02)

    node = ProcessNode(1, replace(plan, setting=("--set", "{}")), serves, watch)
    node.choose({"a": "1", "b": "2"})
    node.restart()
    try:
        assert (tmp_path / "said").read_text().split() == ["--set", "a=1", "--set", "b=2"]
    finally:
        node.kill()
        watch.close()
    with pytest.raises(TargetNotReady, match="other settings"):
        ProcessNode(1, plan, serves, watch).choose({"a": "1"})


def test_some_alone_can_be_started_with_them() -> None:
    said: list[str] = []
    nodes, _ = made(said)
    nodes.start_with(OFTEN, only=[2])
    assert said == [f"2 {OFTEN}"]
    said.clear()
    nodes.heal()
    assert said == ["2 {}"]
