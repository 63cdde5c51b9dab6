"""What a connection keeps and for how long: turns, the budget, what is left of a client that is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any

import pytest

from brokertrial.reference_impl.api.fetch_sessions import (
    NO_SESSION,
    FetchSessions,
    Incremental,
    Mode,
    SessionError,
    SessionPartition,
)
from brokertrial.reference_impl.broker.node import Node
from brokertrial.reference_impl.clock import ManualClock
from brokertrial.reference_impl.net.budget import Budget
from brokertrial.reference_impl.net.server import ClientConnection
from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.wire import frames
from brokertrial.wire.messages import child, request
from brokertrial.wire.records import Record, build_batch


class Wire(asyncio.Transport):
    """The client's end."""

    def __init__(self) -> None:
        super().__init__()
        self.answers, self.ended = 0, False

    def write(self, data: Any) -> None:
        self.answers += 1

    def writelines(self, list_of_data: Any) -> None:
        self.answers += 1

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def get_write_buffer_size(self) -> int:
        return 1000

    def pause_reading(self) -> None:
        """More is never sent than is there."""

    resume_reading = pause_reading

    def close(self) -> None:
        self.ended = True

    def is_closing(self) -> bool:
        return self.ended

    abort = close


def with_a_node(folder: Path, act: Callable[[Node, ManualClock], Coroutine[Any, Any, None]], **settings: str) -> None:
    async def run() -> None:
        clock = ManualClock()
        node = Node(BrokerConfig(folder, settings=settings), clock)
        await node.start()
        try:
            await act(node, clock)
        finally:
            await node.stop()

    asyncio.run(run())


def opened(node: Node) -> tuple[ClientConnection, Wire]:
    wire = Wire()
    line = ClientConnection(node.listener, 1)
    line.connection_made(wire)
    return line, wire


ASKED = frames.encode_request(request("ApiVersions"), 0, 1, "x")
FOR_EVER = frames.encode_request(
    request("Fetch", max_wait_ms=(1 << 31) - 1, min_bytes=1 << 20, topics=[
        {"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1}]}
    ]), 12, 1, "x",
)  # fmt: skip


AT_ONCE = frames.encode_request(
    request("Fetch", max_wait_ms=0, topics=[
        {"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}]}
    ]), 12, 1, "x",
)  # fmt: skip


def test_many_requests_at_once_are_answered_in_turns(tmp_path: Path) -> None:
    async def act(node: Node, _: ManualClock) -> None:
        line, wire = opened(node)
        line.data_received(ASKED * 100)
        assert 0 < wire.answers < 20, "others wait behind this one"
        for _ in range(10):
            await asyncio.sleep(0)
        assert wire.answers == 100

    with_a_node(tmp_path, act)


def test_large_answers_are_given_in_turns(tmp_path: Path) -> None:
    async def act(node: Node, _: ManualClock) -> None:
        node.create_topic("t", 1, {})
        node.append_internal("t", 0, build_batch([Record(None, bytes(1 << 20), timestamp=node.clock.now_ms())]))
        line, wire = opened(node)
        line.data_received(AT_ONCE * 4)
        assert wire.answers == 1, "others wait behind this one"
        for _ in range(4):
            await asyncio.sleep(0)
        assert wire.answers == 4

    with_a_node(tmp_path, act)


def test_what_a_client_left_behind_is_heeded_but_not_for_ever(tmp_path: Path) -> None:
    async def act(node: Node, clock: ManualClock) -> None:
        node.create_topic("t", 1, {})
        line, _ = opened(node)
        line.data_received(FOR_EVER + ASKED)
        await asyncio.sleep(0)
        line.connection_lost(None)
        assert node.listener.open_connections == 1 and node.listener.budget.total == len(ASKED) - 4
        clock.advance(31)
        assert node.listener.open_connections == 0 and node.listener.budget.total == 0

    with_a_node(tmp_path, act)


def test_nothing_is_read_for_a_client_that_is_gone(tmp_path: Path) -> None:
    async def act(node: Node, _: ManualClock) -> None:
        node.create_topic("t", 1, {})
        partition = node.partition("t", 0)
        assert partition is not None
        reads: list[int] = []
        read = partition.read

        def noted(*asked: Any, **how: Any) -> bytes:
            reads.append(1)
            return read(*asked, **how)

        partition.read = noted  # type: ignore[method-assign]
        line, wire = opened(node)
        line.data_received(AT_ONCE)
        assert (len(reads), wire.answers) == (1, 1)
        line.pause_writing()
        line.data_received(AT_ONCE * 8 + ASKED)
        line.connection_lost(None)
        assert len(reads) == 1 and node.listener.open_connections == 0 and node.listener.budget.total == 0

    with_a_node(tmp_path, act)


def test_a_client_that_does_not_read_gets_no_further_answer(tmp_path: Path) -> None:
    async def act(node: Node, _: ManualClock) -> None:
        line, wire = opened(node)
        line.pause_writing()
        line.data_received(ASKED * 3)
        assert wire.answers == 0 and node.listener.budget.total == 1000 + 3 * (len(ASKED) - 4)
        line.resume_writing()
        assert wire.answers == 3 and node.listener.budget.total == 0

    with_a_node(tmp_path, act)


def test_who_keeps_most_goes_when_it_is_too_much(tmp_path: Path) -> None:
    async def act(node: Node, _: ManualClock) -> None:
        (small, kept), (large, ended) = opened(node), opened(node)
        small.data_received((10_000).to_bytes(4, "big") + bytes(3000))
        large.data_received((10_000).to_bytes(4, "big") + bytes(6000))
        assert not kept.ended and not ended.ended
        small.data_received(bytes(2000))
        assert not kept.ended and ended.ended

    with_a_node(tmp_path, act, **{"queued.max.request.bytes": "10000"})


def test_a_connection_that_only_drips_is_idle(tmp_path: Path) -> None:
    async def act(node: Node, clock: ManualClock) -> None:
        (dripping, ended), (used, kept) = opened(node), opened(node)
        dripping.data_received((1000).to_bytes(4, "big"))
        for _ in range(8):
            clock.advance(1)
            dripping.data_received(b"x")
            used.data_received(ASKED)
        assert ended.ended and not kept.ended

    with_a_node(tmp_path, act, **{"connections.max.idle.ms": "4000"})


class Noted:
    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


@pytest.mark.parametrize(("held", "gone"), [((4, 6), 1), ((6, 4), 0), ((5, 5), None)])
def test_the_budget(held: tuple[int, int], gone: int | None) -> None:
    budget, two = Budget(9 if gone is not None else 10), [Noted(), Noted()]
    for one, size in zip(two, held, strict=True):
        budget.note(one, size)
    assert [one.aborted for one in two] == [index == gone for index in range(2)]
    assert budget.total == 10 - (held[gone] if gone is not None else 0)
    assert budget.room == 0, "large answers have an eighth of the limit"
    budget.note(two[1 - (gone or 0)], 0)
    assert budget.total < 10 and Budget(800).room == 100


def opened_with(sessions: FetchSessions, partitions: int) -> int:
    asked = child("Fetch", "request", "topics.partitions")
    told = child("Fetch", "response", "responses.partitions")
    keys = [SessionPartition("t", number) for number in range(partitions)]
    return sessions.open(by_id=False, answered=[(key, asked(partition=key.partition), told()) for key in keys])


@pytest.mark.parametrize(
    ("age_s", "size", "is_ended"), [(130, 2, True), (130, 1, False), (110, 2, False), (260, 1, True)]
)
def test_a_session_makes_room_for_a_larger_one_when_it_is_old(age_s: int, size: int, is_ended: bool) -> None:
    """Two minutes old for a larger one, idle for two minutes for any (KIP-227)."""
    now = [0.0]
    sessions = FetchSessions(1, Random(7), lambda: now[0])
    first = opened_with(sessions, 1)
    now[0] = min(age_s, 130)

    def step(epoch: int) -> Mode:
        return sessions.mode(first, epoch, by_id=False, wanted=[], forgotten=[])

    assert isinstance(step(1), Incremental)
    now[0] = age_s
    assert (opened_with(sessions, size) > 0) is is_ended
    assert isinstance(step(2), SessionError if is_ended else Incremental)


def test_what_sessions_remember_is_bounded() -> None:
    sessions = FetchSessions(10, Random(7), lambda: 0.0)
    assert opened_with(sessions, 60_000) > 0
    assert opened_with(sessions, 60_000) == NO_SESSION
    assert opened_with(sessions, 10) > 0
