"""Fresh clients do the very thing that was stuck, against the bundled broker in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brokertrial.histories.header import Header
from brokertrial.histories.payload import record_for
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.workloads.context import Lagging, WorkloadContext
from brokertrial.suites.workloads.fresh import Fresh, NoFreshProgress
from tests.suites.in_process import InProcess

SCENE = CaseContext(prefix="bt-x", case="tests/fresh", latency_ms=0.1)


class Tried:
    """A broker, a stage, and fresh clients that reach it by a kind of Wire."""

    def __init__(self, folder: Path) -> None:
        self.world = InProcess(folder / "broker")
        self.folder = folder / "history"
        self.recorder = Recorder.create(self.folder, Header(case="tests/fresh", target="t"))
        self.recorder.__enter__()
        wire = self.wire()
        self.topic = wire.new_topic(partitions=2)
        self.context = WorkloadContext(
            SCENE, "", self.recorder, {self.topic: 2}, [], lambda what: what, lambda *_: None
        )

    def wire(self, kind: type[Wire] = Wire) -> Wire:
        return kind(self.world, SCENE, [self.world.address])

    def fresh(self, kind: type[Wire] = Wire) -> Fresh:
        self.asked_as: list[str] = []
        return Fresh(lambda client: (self.asked_as.append(client), self.wire(kind))[1], self.context)

    def rows(self, kind: str) -> list[tuple[str, str]]:
        self.recorder.__exit__(None, None, None)
        rows = History.open(self.folder).rows("operations")
        return [(row.outcome, row.group or "") for row in rows if row.kind == kind]


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tried]:
    monkeypatch.setattr("tests.suites.in_process.NOW_MS", record_for(1, 64)[3])  # the broker refuses another day's
    made = Tried(tmp_path)
    yield made
    made.world.end()


class RefusesJoin(Wire):
    """As if the broker let nobody in: a protocol type that no member has."""

    def join_group(self, group: str, **settings: Any) -> Any:
        return super().join_group(group, **{**settings, "protocols": []})


class EmptyFetch(Wire):
    """As if every Fetch found nothing."""

    def fetch(self, topic: str, partition: int = 0, **how: Any) -> Any:
        return super().fetch(topic, partition, **{**how, "offset": self.log_end(topic, partition), "max_wait_ms": 0})


class RefusesCommit(Wire):
    """A commit by a member that the group does not have."""

    def commit_all(self, group: str, offsets: Any, **how: Any) -> Any:
        return super().commit_all(group, offsets, **{**how, "generation": 77, "member_id": "nobody"})


class FencedEnd(Wire):
    """An end that comes from an epoch of the past."""

    def end_txn(self, transactional_id: str, producer_id: int, epoch: int, **how: Any) -> Any:
        return super().end_txn(transactional_id, producer_id, epoch + 9, **how)


def lag(tried: Tried, reader: str = "consumer-1") -> Lagging:
    tried.fresh().send([(tried.topic, 0)] * 3)
    return Lagging(reader, (tried.topic, 0), position=1, goal=2)


def test_a_fresh_reader_receives_from_where_the_stuck_one_stands_under_its_name(tried: Tried) -> None:
    late = lag(tried)
    tried.fresh().read([late])
    assert tried.asked_as == ["consumer-1"]
    with pytest.raises(NoFreshProgress, match="from offset 1, where consumer-1 stands, came to 1 within"):
        tried.fresh(EmptyFetch).read([late])


def test_a_fresh_member_joins_the_same_group_and_is_assigned(tried: Tried) -> None:
    old = tried.wire().member("g", "old")
    old.join().must_succeed()
    old.sync({old.id: b""}).must_succeed()
    old.leave().must_succeed()
    tried.fresh().join("g", [tried.topic])
    with pytest.raises(NoFreshProgress, match="a fresh client that joined group g met: JoinGroup"):
        tried.fresh(RefusesJoin).join("g", [tried.topic])
    assert tried.wire().committed("g", tried.topic).offset == 0, "it committed, and changed nothing"


def test_a_fresh_client_commits_in_the_same_group(tried: Tried) -> None:
    tried.fresh().commit("g", [(tried.topic, 1)])
    with pytest.raises(NoFreshProgress, match=r"committed .* in group g met: OffsetCommit"):
        tried.fresh(RefusesCommit).commit("g", [(tried.topic, 1)])
    assert tried.rows("commit") == [("ok", "g"), ("info", "g")]


def test_a_fresh_producer_takes_over_the_id_and_ends_transactions_both_ways(tried: Tried) -> None:
    tried.fresh().transact("x", (tried.topic, 0), "g", [(tried.topic, 1)])
    stable = tried.wire().log_end(tried.topic, isolation="committed")
    assert stable == tried.wire().log_end(tried.topic) == 4, "a commit and an abort, each with its marker"
    with pytest.raises(NoFreshProgress, match="a fresh client that ran a transaction of x met: EndTxn"):
        tried.fresh(FencedEnd).transact("x", (tried.topic, 0))
    assert [outcome for outcome, _ in tried.rows("commit_txn")] == ["ok", "info"]
