"""What the coordinators promised survives that the broker is killed, and the planted bugs are seen to bite."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokertrial.reference_impl import bugs
from brokertrial.wire import errors
from tests.reference_impl_coordinators.local import ABORT, COMMIT, Local


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    with contextlib.closing(Local(tmp_path)) as broker:
        yield broker
    bugs.clear()


def test_the_last_commit_is_there_after_a_crash(local: Local) -> None:
    for offset in (5, 9, 3):
        assert local.commit(offset, committed_leader_epoch=2) == errors.NONE
    local.crash()
    found = local.fetched()
    assert (found.committed_offset, found.committed_leader_epoch, found.metadata) == (3, 2, "at 3")


def test_m21_gives_back_an_older_one(local: Local) -> None:
    for offset in (5, 9):
        local.commit(offset)
    bugs.plant("M21")
    assert local.offset() == 9
    local.crash()
    assert local.offset() == 5


def test_m22_finds_nothing_at_first(local: Local) -> None:
    local.commit(5)
    bugs.plant("M22")
    local.crash()
    assert [local.offset(), local.offset()] == [-1, 5]


def test_deleted_groups_and_topics_stay_deleted(local: Local) -> None:
    local.commit(5)
    local.commit(6, group="h", topic="u")
    assert local.call("DeleteGroups", 2, groups_names=["g"]).results[0].error_code == errors.NONE
    topic = local.node.topics.get("u")
    assert topic is not None
    local.node.delete_topic(topic)
    local.crash()
    assert (local.offset(), local.offset("h", "u")) == (-1, -1)
    assert [g.group_id for g in local.call("ListGroups", 4).groups] == ["h"]


def test_producer_ids_never_repeat(local: Local) -> None:
    seen = {local.producer(None)[0] for _ in range(5)}
    local.crash()
    assert not seen & {local.producer(None)[0] for _ in range(1500)}


def test_an_open_transaction_goes_on(local: Local) -> None:
    producer = local.producer()
    assert local.begin(producer, ("t", 0), ("u", 1)) == [0, 0]
    assert local.stage(producer, 7) == errors.NONE
    local.crash()
    assert local.state() == "Ongoing"
    assert local.offset() == -1
    assert local.fetched(stable=True).error_code == errors.UNSTABLE_OFFSET_COMMIT
    assert local.produce(producer, "t", 0) == errors.NONE
    assert local.end(producer, COMMIT) == errors.NONE
    local.clock.advance(0)
    assert local.state() == "CompleteCommit"
    assert local.markers("t", 0) == local.markers("u", 1) == ["COMMIT"]
    assert local.offset() == 7


@pytest.mark.parametrize(("commit", "marker"), [(COMMIT, "COMMIT"), (ABORT, "ABORT")])
def test_a_decided_transaction_is_finished_after_a_crash(local: Local, commit: bool, marker: str) -> None:
    producer = local.producer()
    local.begin(producer, ("t", 0), ("u", 1))
    local.stage(producer, 7)
    assert local.end(producer, commit) == errors.NONE
    assert local.markers("t", 0) == [], "the markers were still on their way"
    local.crash()
    assert local.end(producer, commit) == errors.CONCURRENT_TRANSACTIONS
    local.clock.advance(0)
    assert local.markers("t", 0) == local.markers("u", 1) == [marker]
    assert local.offset() == (7 if commit else -1)
    assert local.end(producer, commit) == errors.NONE
    assert local.end(producer, not commit) == errors.INVALID_TXN_STATE


def test_m18b_leaves_it_unfinished(local: Local) -> None:
    producer = local.producer()
    local.begin(producer, ("t", 0))
    local.end(producer, COMMIT)
    bugs.plant("M18b")
    local.crash()
    local.clock.advance(100)
    assert local.markers("t", 0) == []


def test_m18d_commits_the_rest(local: Local) -> None:
    producer = local.producer()
    local.begin(producer, ("t", 0))
    bugs.plant("M18d")
    local.crash()
    local.begin(producer, ("u", 1))
    local.end(producer, COMMIT)
    local.clock.advance(0)
    assert (local.markers("t", 0), local.markers("u", 1)) == ([], ["COMMIT"])


def test_m19b_forgets_what_was_staged(local: Local) -> None:
    producer = local.producer()
    local.stage(producer, 7)
    bugs.plant("M19b")
    local.crash()
    local.end(producer, COMMIT)
    local.clock.advance(0)
    assert local.offset() == -1


@pytest.mark.parametrize(("bug", "expected"), [("", 15), ("M21b", 20)])
def test_of_a_plain_and_a_staged_offset_the_later_one_stays(local: Local, bug: str, expected: int) -> None:
    producer = local.producer()
    local.stage(producer, 20)
    local.commit(15)
    if bug:
        bugs.plant(bug)
    local.end(producer, COMMIT)
    local.clock.advance(0)
    assert local.offset() == expected
    local.crash()
    assert local.offset() == expected


def test_downtime_counts_towards_the_time_out(local: Local) -> None:
    producer = local.producer(timeout_ms=5_000)
    local.begin(producer, ("t", 0))
    local.clock.advance(4)
    local.crash()
    local.clock.advance(0.9)
    assert local.state() == "Ongoing"
    local.clock.advance(0.5)
    assert local.state() == "CompleteAbort"
    assert local.markers("t", 0) == ["ABORT"]
    assert local.end(producer, COMMIT) == errors.PRODUCER_FENCED
    assert local.produce(producer, "t", 0) == errors.INVALID_PRODUCER_EPOCH


def test_m40g_never_times_out(local: Local) -> None:
    bugs.plant("M40g")
    local.begin(local.producer(timeout_ms=1_000), ("t", 0))
    local.clock.advance(100)
    assert local.state() == "Ongoing"


def test_offsets_of_an_idle_group_expire(local: Local) -> None:
    local.commit(5)
    local.clock.advance(59)
    local.crash()
    assert local.offset() == 5
    local.clock.advance(2)
    assert local.offset() == -1
    assert list(local.call("ListGroups", 4).groups) == []


def test_a_partition_refuses_an_epoch_below_its_own_whoever_asks(local: Local) -> None:
    producer = local.producer()
    local.stage(producer, 7)
    local.begin(producer, ("t", 0))
    stale = (producer[0], producer[1] - 1)
    line = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    fields = {"producer_id": stale[0], "producer_epoch": stale[1], "group_id": "g"}
    answer = local.call(
        "TxnOffsetCommit", 5, transactional_id="nobody", topics=[{"name": "t", "partitions": [line]}], **fields
    )
    assert answer.topics[0].partitions[0].error_code == errors.INVALID_PRODUCER_EPOCH
    assert local.produce(stale, "t", 0, name="nobody") == errors.INVALID_PRODUCER_EPOCH
    assert local.produce(stale, "t", 1, name="nobody") == errors.INVALID_PRODUCER_ID_MAPPING


def test_a_partition_that_knows_a_newer_epoch_leaves_the_transaction_prepared(local: Local) -> None:
    producer = local.producer()
    local.begin(producer, ("t", 0), ("u", 1))
    assert local.node.append_marker("t", 0, producer[0], producer[1] + 1, 0, ABORT) == errors.NONE
    assert local.end(producer, COMMIT) == errors.NONE
    for _ in range(2):
        local.clock.advance(0)
        assert local.state() == "PrepareCommit"
        assert local.end(producer, COMMIT) == errors.CONCURRENT_TRANSACTIONS
        local.crash()


# -- planted bugs that need no restart ---------------------------------------------------------------------------


def test_m19a_shows_staged_offsets_at_once(local: Local) -> None:
    bugs.plant("M19a")
    local.stage(local.producer(), 7)
    assert local.offset() == 7


@pytest.mark.parametrize(("bug", "expected"), [("", -1), ("M19c", 7)])
def test_m19c_keeps_aborted_offsets(local: Local, bug: str, expected: int) -> None:
    if bug:
        bugs.plant(bug)
    producer = local.producer()
    local.stage(producer, 7)
    local.end(producer, ABORT)
    local.clock.advance(0)
    assert local.offset() == expected


def test_m28_loses_what_came_with_the_offset(local: Local) -> None:
    bugs.plant("M28")
    local.commit(5, committed_leader_epoch=3)
    found = local.fetched()
    assert (found.committed_offset, found.committed_leader_epoch, found.metadata) == (5, -1, "")


def test_m28b_ignores_lower_commits(local: Local) -> None:
    bugs.plant("M28b")
    assert [local.commit(5), local.commit(3)] == [0, 0]
    assert local.offset() == 5


@pytest.mark.parametrize("version", [3, 5])
def test_m13b_lets_a_fenced_producer_commit(local: Local, version: int) -> None:
    old = local.producer()
    new = local.producer()
    local.begin(new, ("t", 0))
    assert local.end(old, COMMIT, version=version) == errors.PRODUCER_FENCED
    bugs.plant("M13b")
    assert local.end(old, COMMIT, version=version) == errors.NONE


def test_m18a_leaves_one_partition_without_a_marker(local: Local) -> None:
    bugs.plant("M18a")
    producer = local.producer()
    local.begin(producer, ("t", 0), ("u", 1))
    local.end(producer, COMMIT)
    local.clock.advance(0)
    assert (local.markers("t", 0), local.markers("u", 1)) == (["COMMIT"], [])


@pytest.mark.parametrize("version", [3, 5])
def test_m18c_accepts_the_opposite(local: Local, version: int) -> None:
    producer = local.producer()
    local.begin(producer, ("t", 0))
    local.end(producer, COMMIT, version=version)
    local.clock.advance(0)
    assert local.end(producer, ABORT, version=version) == errors.INVALID_TXN_STATE
    bugs.plant("M18c")
    assert local.end(producer, ABORT, version=version) == errors.NONE


@pytest.mark.parametrize(
    ("bug", "code", "state"), [("", errors.PRODUCER_FENCED, "Ongoing"), ("M20", errors.NONE, "PrepareCommit")]
)
def test_m20_lets_a_late_end_hit_the_next_transaction(local: Local, bug: str, code: int, state: str) -> None:
    if bug:
        bugs.plant(bug)
    producer = local.producer()
    local.begin(producer, ("t", 0))
    ids = {"transactional_id": "x", "producer_id": producer[0], "producer_epoch": producer[1]}
    told = local.call("EndTxn", 5, committed=True, **ids)
    local.clock.advance(0)
    local.begin((told.producer_id, told.producer_epoch), ("t", 0))
    assert local.end(producer, COMMIT, version=5) == code
    assert local.state() == state
