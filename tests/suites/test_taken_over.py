"""A transactional id that a fresh client holds: the producers of the workload wait, and do not fence it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from brokertrial.suites.workloads import transactional_session
from brokertrial.suites.workloads.fresh import Fresh, NoFreshProgress
from brokertrial.suites.workloads.transactional_session import TransactionalSessions

ID = "x1"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the producers that were started."""
    names: list[str] = []

    def made(context: object, name: str, transactional_id: str) -> SimpleNamespace:
        names.append(name)
        return SimpleNamespace(start=lambda: True, close=lambda: None, over=False, open=False)

    monkeypatch.setattr(transactional_session, "TransactionalSession", made)
    return names


def context() -> SimpleNamespace:
    return SimpleNamespace(taken_over=set(), stopping=threading.Event(), value_range=lambda: iter(range(9)))


def test_nobody_starts_while_a_fresh_client_holds_the_id(started: list[str]) -> None:
    ours = context()
    sessions = TransactionalSessions(ours, "producer-1", ID)
    ours.taken_over.add(ID)
    assert sessions.current() is None and started == []
    ours.taken_over.discard(ID)
    assert sessions.current() is not None and started == ["producer-1"]


def test_who_holds_another_id_keeps_nobody_waiting(started: list[str]) -> None:
    ours = context()
    ours.taken_over.add("x2")
    assert TransactionalSessions(ours, "producer-1", ID).current() is not None


def test_at_the_end_what_was_left_open_is_ended_all_the_same(started: list[str]) -> None:
    ours = context()
    ours.taken_over.add(ID)
    ours.stopping.set()
    assert TransactionalSessions(ours, "producer-1", ID).current() is not None


def test_a_fresh_client_holds_the_id_while_it_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, held = context(), []

    class Wire:
        def producer(self, transactional_id: str) -> Iterator[None]:
            held.append(set(ours.taken_over))
            raise NoFreshProgress("met a wall")

        def drop_lines(self) -> None:
            """Nothing is open."""

    fresh = Fresh(lambda client: Wire(), ours)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(fresh, "_client", lambda **_: "fresh1")
    with pytest.raises(NoFreshProgress):
        fresh.transact(ID, ("t", 0))
    assert held == [{ID}] and not ours.taken_over
