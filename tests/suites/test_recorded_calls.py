"""What each client call leaves in the history: one row a partition, invoked before and returned after the call."""

from __future__ import annotations

import types
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from brokertrial.histories.clock import now_ns
from brokertrial.histories.header import Header
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Operation, Record, Row
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.workloads import asker, commits
from brokertrial.suites.workloads.committing import commit_positions
from brokertrial.suites.workloads.context import WorkloadContext
from brokertrial.suites.workloads.copies import _Copier
from brokertrial.suites.workloads.reader import Reader, Stream
from brokertrial.suites.workloads.transactional_session import TransactionalSession
from brokertrial.suites.workloads.writer import RecordProducer

LATE = KafkaException(KafkaError(KafkaError._TIMED_OUT))
REFUSED = KafkaException(KafkaError(KafkaError.ILLEGAL_GENERATION))


class Rows:
    """In place of a recorder: keeps what is added."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._op = 0

    def next_op(self) -> int:
        self._op += 1
        return self._op

    def add(self, row: Row) -> None:
        self.rows.append(row)

    def event(self, kind: str, **fields: Any) -> None:
        pass

    def operations(self) -> list[Operation]:
        return [row for row in self.rows if isinstance(row, Operation)]


@pytest.fixture
def context(tmp_path):
    case_context = CaseContext(prefix="x", case="tests/case", latency_ms=1.0)
    with Recorder.create(tmp_path / "history", Header(case="tests/calls", target="nobody")) as recorder:
        made = WorkloadContext(
            case_context, "127.0.0.1:1", recorder, {"t": 2}, [], lambda what: f"x-{what}", lambda client, text: None
        )
        made.recorder = Rows()
        yield made


def told(rows: Rows) -> list[dict[str, Any]]:
    """The rows without what is null, times proven and taken out."""
    found = []
    for row in rows.operations():
        assert row.return_ns is None or row.call_ns <= row.return_ns <= now_ns()
        values = msgspec.structs.asdict(row)
        del values["call_ns"], values["return_ns"]
        found.append({name: value for name, value in values.items() if value is not None})
    return found


def once(context: WorkloadContext, result: Any) -> Any:
    """A call of the library that ends the loop around it, and returns or raises what is given."""

    def call(*_: Any, **__: Any) -> Any:
        context.stopping.set()
        if isinstance(result, Exception):
            raise result
        return result

    return call


def part(topic: str, partition: int, offset: int, error: int | None = None, metadata: str | None = None) -> Any:
    problem = None if error is None else KafkaError(error)
    return types.SimpleNamespace(topic=topic, partition=partition, offset=offset, error=problem, metadata=metadata)


@pytest.mark.parametrize(
    ("found", "row"),
    [((3, 9), {"outcome": "ok", "log_start": 3, "high_watermark": 9}), (LATE, {"outcome": "info"})],
    ids=["answered", "late"],
)
def test_the_ends_of_a_partition(context, monkeypatch, found, row):
    consumer = types.SimpleNamespace(get_watermark_offsets=once(context, found))
    monkeypatch.setattr(asker, "Reader", lambda *_: types.SimpleNamespace(consumer=consumer, close=lambda: None))
    asker.ask_for_ends(context, "e1")
    (only,) = told(context.recorder)
    assert only.pop("partition") in (0, 1)
    assert only == {"op": 1, "client": "e1", "kind": "list_offsets", "topic": "t", **row}
    assert context.clock.operations() == 1


@pytest.mark.parametrize(
    ("found", "row"),
    [
        ([part("t", 1, 5)], {"outcome": "ok"}),
        ([part("t", 1, 5, KafkaError.ILLEGAL_GENERATION)], {"outcome": "info", "error": 22}),
        (REFUSED, {"outcome": "info", "error": 22}),
        (LATE, {"outcome": "info"}),
    ],
    ids=["ok", "refused", "raised", "late"],
)
def test_a_commit_of_a_register(context, monkeypatch, found, row):
    consumer = types.SimpleNamespace(commit=once(context, found), close=lambda: None)
    monkeypatch.setattr(commits, "_member", lambda *_: consumer)
    commits.Commits()._commit(context, "c1", "g", ("t", 1))
    (only,) = told(context.recorder)
    assert only.pop("committed_offset") >= 0
    assert only == {
        "op": 1, "client": "c1", "kind": "commit", "topic": "t", "partition": 1, "commit_id": 1, "group": "g", **row,
    }  # fmt: skip
    assert context.acked == (row["outcome"] == "ok")
    assert context.clock.operations() == 1


def test_what_a_group_has_committed_is_one_call_with_a_row_a_partition(context, monkeypatch):
    found = [part("t", 0, 7, metadata="12"), part("t", 1, -1001), part("t", 2, 3, KafkaError.UNKNOWN_TOPIC_OR_PART)]
    consumer = types.SimpleNamespace(committed=once(context, found), close=lambda: None)
    monkeypatch.setattr(commits, "_member", lambda *_: consumer)
    commits.Commits()._ask(context, "a1", "g")
    same = {"op": 1, "client": "a1", "kind": "committed", "topic": "t", "group": "g"}
    assert told(context.recorder) == [
        {**same, "partition": 0, "outcome": "ok", "committed_offset": 7, "commit_id": 12},
        {**same, "partition": 1, "outcome": "ok", "committed_offset": -1},
        {**same, "partition": 2, "outcome": "info", "committed_offset": 3},
    ]


@pytest.mark.parametrize(("problem", "error"), [(REFUSED, {"error": 22}), (LATE, {})], ids=["refused", "late"])
def test_a_group_that_is_not_told_what_it_committed_leaves_one_row(context, monkeypatch, problem, error):
    consumer = types.SimpleNamespace(committed=once(context, problem), close=lambda: None)
    monkeypatch.setattr(commits, "_member", lambda *_: consumer)
    commits.Commits()._ask(context, "a1", "g")
    row = {"op": 1, "client": "a1", "kind": "committed", "group": "g", "outcome": "info", **error}
    assert told(context.recorder) == [row]


@pytest.mark.parametrize(
    ("found", "outcomes", "whole"),
    [
        ([part("t", 0, 4), part("t", 1, 5)], ["ok", "ok"], True),
        ([part("t", 0, 4), part("t", 1, 5, KafkaError.ILLEGAL_GENERATION)], ["ok", "info"], False),
        (LATE, ["info", "info"], False),
    ],
    ids=["ok", "one refused", "late"],
)
def test_the_positions_of_a_member(context, found, outcomes, whole):
    consumer: Any = types.SimpleNamespace(commit=once(context, found))
    positions = [TopicPartition("t", 0, 4), TopicPartition("t", 1, 5)]
    assert commit_positions(context, consumer, "m1", "g", positions) is whole
    same = {"op": 1, "client": "m1", "kind": "commit", "topic": "t", "group": "g"}
    assert told(context.recorder) == [
        {**same, "partition": n, "outcome": outcome, "committed_offset": 4 + n} for n, outcome in enumerate(outcomes)
    ]


@pytest.mark.parametrize(("outcome", "row"), [("ok", "ok"), ("abort", "info"), ("fatal", "info")])
def test_offsets_sent_in_a_transaction(context, outcome, row):
    copier = _Copier.__new__(_Copier)
    copier.context, copier.group = context, "g"
    writer = types.SimpleNamespace(producer=None)
    copier.reader = types.SimpleNamespace(consumer=None)  # type: ignore[assignment]
    copier.session = types.SimpleNamespace(  # type: ignore[assignment]
        context=context, client="x1", transactional_id="id", writer=writer, retried=lambda what, call: outcome
    )
    assert copier._send_offsets(3, {("t", 0): 4, ("t", 1): 5}) is (outcome == "ok")
    same = {"op": 1, "client": "x1", "kind": "commit", "topic": "t", "group": "g", "transactional_id": "id", "txn": 3}
    assert told(context.recorder) == [
        {**same, "partition": n, "outcome": row, "committed_offset": 4 + n} for n in (0, 1)
    ]
    assert context.clock.operations() == 1


def test_a_transaction(context, monkeypatch):
    session = TransactionalSession(context, "t1", "id")
    done = types.SimpleNamespace(begin_transaction=lambda: None, commit_transaction=lambda seconds: None)
    monkeypatch.setattr(session.writer, "producer", done)
    txn = session.begin()
    assert txn is not None
    assert session.end(txn, abort=False)
    same = {"client": "t1", "outcome": "ok", "transactional_id": "id", "txn": 1}
    assert told(context.recorder) == [{"op": 1, "kind": "begin", **same}, {"op": 2, "kind": "commit_txn", **same}]


class Message:
    """A record as the library delivers it."""

    def __init__(self, partition: int, offset: int) -> None:
        self._partition, self._offset = partition, offset

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def topic(self) -> str:
        return "t"

    def timestamp(self) -> tuple[int, int]:
        return 1, 5

    def leader_epoch(self) -> int:
        return 2

    def error(self) -> None:
        return None

    key = value = headers = error


def test_a_poll_is_one_call_with_a_row_a_partition_and_none_when_it_brought_nothing(context):
    reader = Reader(context, "r1")
    reader.consumer.close()
    polls = [[], [Message(0, 4), Message(1, 8), Message(0, 5)]]
    reader.consumer = types.SimpleNamespace(consume=lambda *_: polls.pop(0))  # type: ignore[assignment]
    reader.streams = {("t", n): Stream(n, None) for n in (0, 1)}
    assert reader.poll() == {}
    assert context.clock.operations() == 0
    reader.poll()
    same = {"op": 1, "client": "r1", "kind": "poll", "topic": "t", "outcome": "ok"}
    assert told(context.recorder) == [
        {**same, "partition": 0, "base_offset": 4, "count": 2},
        {**same, "partition": 1, "base_offset": 8, "count": 1},
    ]
    assert [(row.op, row.offset, row.position) for row in context.recorder.rows if isinstance(row, Record)] == [
        (1, 4, 0), (1, 5, 1), (1, 8, 0),
    ]  # fmt: skip
    assert context.clock.operations() == 1


@pytest.mark.parametrize(
    ("problem", "offset", "row"),
    [
        (None, 7, {"outcome": "ok", "base_offset": 7, "leader_epoch": 2}),
        (None, -1, {"outcome": "ok", "leader_epoch": 2}),
        (KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION), None, {"outcome": "info", "error": 6}),
        (KafkaError(KafkaError._TIMED_OUT), None, {"outcome": "info"}),
    ],
    ids=["ok", "without an offset", "refused", "late"],
)
def test_a_send(context, monkeypatch, problem, offset, row):
    writer = RecordProducer(context, "w1", idempotent=False)
    answers = []
    producer = types.SimpleNamespace(produce=lambda *_, on_delivery, **__: answers.append(on_delivery))
    monkeypatch.setattr(writer, "producer", producer)
    value = writer.send(("t", 1), txn=4, derived_from=9)
    answers[0](problem, Message(1, offset))
    same = {"op": 1, "client": "w1", "topic": "t", "partition": 1, "txn": 4}
    assert told(context.recorder) == [{**same, "kind": "send", "count": 1, **row}]
    (record,) = [found for found in context.recorder.rows if isinstance(found, Record)]
    assert (record.value, record.side, record.position, record.derived_from) == (value, "sent", 0, 9)
    assert (record.outcome, record.offset, record.leader_epoch) == (
        row["outcome"], row.get("base_offset"), row.get("leader_epoch"),
    )  # fmt: skip
    assert writer.unsure == (row["outcome"] != "ok")


@pytest.mark.parametrize(
    ("problem", "row", "returned"),
    [
        (BufferError(), {"outcome": "fail"}, False),
        (REFUSED, {"outcome": "fail", "error": 22}, True),
        (LATE, {"outcome": "fail"}, True),
    ],
    ids=["queue full", "refused", "local"],
)
def test_a_send_that_never_left(context, monkeypatch, problem, row, returned):
    writer = RecordProducer(context, "w1")
    producer = types.SimpleNamespace(produce=once(context, problem), poll=lambda seconds: None)
    monkeypatch.setattr(writer, "producer", producer)
    assert writer.send(("t", 1)) is None
    same = {"op": 1, "client": "w1", "kind": "send", "topic": "t", "partition": 1, "count": 1}
    assert told(context.recorder) == [{**same, **row}]
    assert (context.recorder.operations()[0].return_ns is not None) is returned
    assert writer.waiting == 0
