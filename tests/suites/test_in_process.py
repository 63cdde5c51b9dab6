"""The broker in this process: what it raises where no request is under way is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.suites.in_process import InProcess


@pytest.fixture
def world(tmp_path: Path):
    world = InProcess(tmp_path)
    yield world
    world.end()


def _ends() -> None:
    raise ZeroDivisionError("planned")


def test_what_a_timer_raises_is_kept_and_the_others_go_on(world: InProcess) -> None:
    ran: list[str] = []
    world._now.call_later(0.01, _ends)
    world._now.call_later(0.02, lambda: ran.append("the next"))
    world.pause(0.1)
    assert [str(error) for error in world.raised] == ["planned"]
    assert ran == ["the next"]


def test_what_a_callback_raises_is_kept(world: InProcess) -> None:
    world._loop.call_soon(_ends)
    world.pause(0.1)
    assert [str(error) for error in world.raised] == ["planned"]


def test_a_healthy_broker_raises_nothing(world: InProcess) -> None:
    world.pause(1.0)
    assert not world.raised
