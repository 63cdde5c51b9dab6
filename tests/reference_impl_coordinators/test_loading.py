"""A coordinator reads its partition back a little at a time: nothing waits for it, and nothing is lost by it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brokertrial.reference_impl import api
from brokertrial.reference_impl.broker.dispatch import dispatch
from brokertrial.reference_impl.broker.node import CONSUMER_OFFSETS, Node
from brokertrial.reference_impl.clock import ManualClock, SystemClock
from brokertrial.reference_impl.coordinator import loading
from brokertrial.reference_impl.group import layout
from brokertrial.reference_impl.group.layout import CommittedOffset, OffsetKey
from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.wire import apis, errors
from brokertrial.wire.messages import Struct, request
from brokertrial.wire.records import Record, build_batch
from tests.reference_impl_coordinators.local import COMMIT, Local

SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
RECORDS, GROUPS, A_BATCH = 50_000, 100, 10
LONGEST_TURN_S = 0.15
LOADING = errors.COORDINATOR_LOAD_IN_PROGRESS


def ask(node: Node, name: str, version: int, /, **fields: Any) -> Struct:
    """The way of a request from the listener; what is answered later is a failure."""
    served = api.served()[apis.by_name(name).key]
    answer = dispatch(served, request(name, **fields), api.Context(node, served.api, version, 1, "c", 1, "127.0.0.1"))
    assert isinstance(answer, Struct), f"{name} does not answer at once"
    return answer


# -- a large partition ----------------------------------------------------------------------------------------------


def fill(folder: Path) -> None:
    """Fifty thousand commits in five thousand batches, as a hard stop leaves them."""
    node = Node(BrokerConfig(data=folder, settings=SETTINGS), clock=ManualClock())
    node.recover()
    node.ensure_internal(CONSUMER_OFFSETS)
    for first in range(0, RECORDS, A_BATCH):
        rows = [
            Record(
                key=layout.offset_key(OffsetKey(f"g{number % GROUPS}", "t", number % 7)),
                value=layout.offset_value(CommittedOffset(number, -1, "", 1)),
            )
            for number in range(first, first + A_BATCH)
        ]
        node.append_internal(CONSUMER_OFFSETS, 0, build_batch(rows))
    partition = node.partition(CONSUMER_OFFSETS, 0)
    assert partition is not None
    partition.close(clean=False)
    node.journal.close()


def test_requests_are_served_while_a_large_partition_is_read(tmp_path: Path) -> None:
    fill(tmp_path)
    turns, codes, found = asyncio.run(_restarted(tmp_path))

    assert max(turns) < LONGEST_TURN_S < sum(turns), "the loop came round, again and again"
    assert codes == {LOADING}
    assert found == {f"g{g}": max(n for n in range(RECORDS) if n % GROUPS == g and n % 7 == 3) for g in range(GROUPS)}


async def _restarted(folder: Path) -> tuple[list[float], set[int], dict[str, int]]:
    """The CPU time of each turn of the loop while it loads, what was said meanwhile, and what was there at the end."""
    node = Node(BrokerConfig(data=folder, settings=SETTINGS), clock=SystemClock())
    node.recover()
    turns, codes, alive = list[float](), set[int](), set[int]()
    began = time.thread_time()
    while node.groups.loads:
        codes.add(ask(node, "ListGroups", 4).error_code)
        alive.add(ask(node, "Heartbeat", 4, group_id="g1", generation_id=1, member_id="m").error_code)
        codes.add(ask(node, "OffsetFetch", 8, groups=[{"group_id": "g1", "topics": None}]).groups[0].error_code)
        await asyncio.sleep(0)
        now = time.thread_time()
        turns.append(now - began)
        began = now
    assert alive == {errors.NONE}, "a member need not know that its group is being read"
    found = {}
    for group in ask(node, "ListGroups", 4).groups:
        asked = [{"group_id": group.group_id, "topics": [{"name": "t", "partition_indexes": [3]}]}]
        answer = ask(node, "OffsetFetch", 8, groups=asked)
        found[group.group_id] = answer.groups[0].topics[0].partitions[0].committed_offset
    await node.stop()
    return turns, codes, found


# -- what happens meanwhile: one record a turn, and the clock stands still --------------------------------------------


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Local]:
    with contextlib.closing(Local(tmp_path)) as broker:
        monkeypatch.setattr(loading, "STEP_S", 0.0)
        yield broker


def test_everything_about_its_keys_waits(local: Local) -> None:
    producer = local.producer()
    local.producer()
    local.commit(4)
    local.commit(5)
    local.crash()
    node = local.node
    group = {"group_id": "g"}
    who = {"transactional_id": "x", "producer_id": producer[0], "producer_epoch": producer[1]}
    codes = [
        ask(node, "JoinGroup", 5, **group).error_code,
        ask(node, "LeaveGroup", 3, **group).error_code,
        ask(node, "ConsumerGroupHeartbeat", 1, **group).error_code,
        ask(node, "DeleteGroups", 2, groups_names=["g"]).results[0].error_code,
        ask(node, "DescribeGroups", 5, groups=["g"]).groups[0].error_code,
        ask(node, "InitProducerId", 4, transactional_id="x", transaction_timeout_ms=1000).error_code,
        ask(node, "EndTxn", 3, **who).error_code,
        ask(node, "ListTransactions", 0).error_code,
        ask(node, "DescribeTransactions", 0, transactional_ids=["x"]).transaction_states[0].error_code,
    ]
    assert codes == [LOADING] * len(codes)
    assert local.produce(producer, "t", 0) == errors.NOT_ENOUGH_REPLICAS, "a producer is told to try again"
    local.clock.advance(0)
    assert local.offset() == 5
    assert local.state() == "Empty"


@pytest.mark.parametrize(
    ("version", "code"), [(0, errors.COORDINATOR_NOT_AVAILABLE), (1, errors.COORDINATOR_NOT_AVAILABLE), (2, LOADING)]
)
def test_old_producers_are_refused_with_a_code_that_they_know(version: int, code: int, local: Local) -> None:
    pid, epoch = local.producer()
    local.commit(4)
    local.crash()
    line = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
    ids = {"transactional_id": "x", "producer_id": pid, "producer_epoch": epoch, "group_id": "g"}
    answer = ask(local.node, "TxnOffsetCommit", version, topics=[{"name": "t", "partitions": [line]}], **ids)
    assert answer.topics[0].partitions[0].error_code == code


def test_it_is_given_up_when_leadership_moves_away(local: Local) -> None:
    for offset in range(5):
        local.commit(offset)
    local.crash()
    groups, index = local.node.groups, local.node.groups.partition_of("g")
    assert groups.loads.refusal(index) == LOADING
    groups.resigned(index)
    local.clock.advance(1)
    assert groups.loads.refusal(index) == errors.NONE
    assert groups.find("g") is None

    groups.elected(index)
    local.clock.advance(0)
    assert local.offset() == 4


def test_a_marker_that_comes_meanwhile_counts_once(local: Local) -> None:
    producer = local.producer()
    local.commit(1)
    local.stage(producer, 7)
    local.crash()
    index = local.node.groups.partition_of("g")
    assert local.node.groups.loads.refusal(index) == LOADING
    assert local.node.append_marker(CONSUMER_OFFSETS, index, *producer, 0, COMMIT) == errors.NONE
    local.clock.advance(0)
    assert local.offset() == 7
    assert not local.node.groups.offsets_of("g").has_staged("g")


def test_a_topic_that_is_deleted_meanwhile_is_forgotten(local: Local) -> None:
    local.commit(1)
    local.commit(2, topic="u")
    local.crash()
    topic = local.node.topics.get("u")
    assert topic is not None
    assert local.node.groups.loads
    local.node.delete_topic(topic)
    local.clock.advance(0)
    assert (local.offset(), local.offset(topic="u")) == (1, -1)


def test_what_cannot_be_read_has_no_coordinator(local: Local) -> None:
    local.commit(1)
    index = local.node.groups.partition_of("g")
    odd = build_batch([Record(key=b"\x00\x01\x00\x7fcut short", value=b"")])
    local.node.append_internal(CONSUMER_OFFSETS, index, odd)
    local.crash()
    local.clock.advance(0)
    assert ask(local.node, "Heartbeat", 4, group_id="g").error_code == errors.NOT_COORDINATOR
