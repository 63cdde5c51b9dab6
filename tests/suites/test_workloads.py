"""The edges of what clients do: lost answers, fatal errors, aborts, sessions that end; no broker is needed."""

from random import Random
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaError, KafkaException

from brokertrial.checkers.judge import judge
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Event, Operation, Record
from brokertrial.suites.cases.partition.isolated_nodes import FOR_S
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.promptness import CAP_MS
from brokertrial.suites.workloads.commits import Commits
from brokertrial.suites.workloads.context import WorkloadContext
from brokertrial.suites.workloads.reader import Reader
from brokertrial.suites.workloads.sending import send_steadily
from brokertrial.suites.workloads.transactional_session import TransactionalSession, TransactionalSessions
from brokertrial.suites.workloads.writer import RecordProducer
from campaigns import chaos

NOWHERE = "127.0.0.1:1"


@pytest.fixture
def recorder(tmp_path):
    made = Recorder.create(tmp_path / "history", Header(case="tests/workloads", target="nobody"))
    yield made
    made.close()


@pytest.fixture
def context(recorder):
    case_context = CaseContext(prefix="bt-x", case="tests/case", latency_ms=1.0)
    return WorkloadContext(
        case_context, NOWHERE, recorder, {"t": 2}, [], lambda what: f"bt-x-{what}", lambda client, text: None
    )


class Rows:
    """In place of a recorder: keeps what is added."""

    def __init__(self):
        self.rows = []
        self._op = 0

    def next_op(self):
        self._op += 1
        return self._op

    def add(self, row):
        self.rows.append(row)

    def event(self, kind, **fields):
        self.rows.append((kind, fields))

    def sends(self):
        return [row for row in self.rows if isinstance(row, Record)]


@pytest.fixture
def rows(context):
    context.recorder = Rows()
    return context.recorder


def fatal():
    return KafkaException(KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "desynchronised", fatal=True))


def test_what_never_got_an_answer_is_in_the_history_as_unknown(context, rows):
    writer = RecordProducer(context, "producer-1")
    values = [writer.send(("t", 0)), writer.send(("t", 1)), writer.send(("t", 0))]
    writer.close(within_s=0.1)

    assert [(row.value, row.outcome) for row in rows.sends()] == [(value, "info") for value in values]
    assert [row.position for row in rows.sends()] == [0, 0, 1]


def test_a_fatal_error_out_of_poll_is_noted_and_loses_no_row(context, rows, monkeypatch):
    writer = RecordProducer(context, "producer-1")
    writer.send(("t", 0))

    class Raising:
        def __init__(self, real):
            self.real = real

        def poll(self, seconds):
            raise fatal()

        def __getattr__(self, name):
            return getattr(self.real, name)

    monkeypatch.setattr(writer, "producer", Raising(writer.producer))
    writer.poll(0)
    writer.close(within_s=5.0)

    assert writer.fatal is not None
    assert [row.outcome for row in rows.sends()] == ["info"]


def test_a_client_that_fails_still_tells_what_it_sent(context, rows, monkeypatch):
    def make(client):
        writer = RecordProducer(context, client)

        def failing(seconds):
            if len(writer._under_way) == 3:
                monkeypatch.setattr(writer, "poll", lambda seconds: None)
                raise RuntimeError("ours")

        monkeypatch.setattr(writer, "poll", failing)
        monkeypatch.setattr(writer, "flush", lambda within_s: None)
        return writer

    with pytest.raises(RuntimeError):
        send_steadily(context, "producer-1", 1e6, context.places, make)

    assert [row.outcome for row in rows.sends()] == ["info"] * 3


class ScriptedProducer:
    """A transactional producer whose calls end as they are told to."""

    def __init__(self, **outcomes):
        self.outcomes = {name: list(found) for name, found in outcomes.items()}
        self.calls = []

    def __getattr__(self, name):
        def call(*_, **__):
            self.calls.append(name)
            if errors := self.outcomes.get(name):
                raise KafkaException(errors.pop(0))

        return call


def error(**how):
    return KafkaError(KafkaError._TIMED_OUT, "late", **how)


@pytest.mark.parametrize(
    ("outcomes", "abort", "ended", "kinds", "over", "open_"),
    [
        ({}, False, True, ["commit_txn:ok"], False, False),
        ({"commit_transaction": [error(retriable=True)]}, False, True, ["commit_txn:ok"], False, False),
        (
            {"commit_transaction": [error(txn_requires_abort=True)]},
            False, False, ["commit_txn:info", "abort_txn:ok"], False, False,
        ),
        ({"commit_transaction": [error(fatal=True)]}, False, False, ["commit_txn:info"], True, True),
        ({}, True, True, ["abort_txn:ok"], False, False),
        ({"abort_transaction": [error()]}, True, False, ["abort_txn:info"], True, True),
    ],
    ids=["commits", "retries", "must abort", "fatal", "aborts", "abort fails"],
)  # fmt: skip
def test_how_a_transaction_ends(context, rows, outcomes, abort, ended, kinds, over, open_, monkeypatch):
    session = TransactionalSession(context, "producer-1", "x")
    monkeypatch.setattr(session.writer, "producer", ScriptedProducer(**outcomes))
    txn = session.begin()
    assert txn is not None

    assert session.end(txn, abort) is ended
    told = [f"{row.kind}:{row.outcome}" for row in rows.rows if isinstance(row, Operation)]
    assert told == ["begin:ok", *kinds]
    assert (session.over, session.open) == (over, open_)


def test_a_session_that_left_a_transaction_open_is_taken_over_at_the_end(context, rows, monkeypatch):
    started = []

    def start(session):
        started.append(session.client)
        monkeypatch.setattr(session.writer, "producer", ScriptedProducer(commit_transaction=[error(fatal=True)]))
        return True

    monkeypatch.setattr(TransactionalSession, "start", start)
    sessions = TransactionalSessions(context, "producer-1", "x")
    session = sessions.current()
    assert session is not None
    session.end(session.begin() or 0, False)
    sessions.close()

    assert started == ["producer-1", "producer-1.2"]


def healthy(folder):
    """Ten records, acknowledged; read by one reader in two streams and at the end."""
    with Recorder.create(folder, Header(case="tests/soak", target="nobody", nodes=1)) as recorder:
        recorder.add(Client(client="p", library="librdkafka", acks=-1, idempotence=True))
        for reader in ("r", "final"):
            recorder.add(Client(client=reader, library="wire", isolation="read_uncommitted"))
        for value in range(10):
            at: dict[str, Any] = {"client": "p", "topic": "t", "partition": 0, "outcome": "ok"}
            recorder.add(Operation(op=value, kind="send", call_ns=value, return_ns=value + 1, base_offset=value, **at))
            recorder.add(Record(op=value, offset=value, value=100 + value, side="sent", position=value, **at))
        for op, (client, stream) in enumerate((("r", 1), ("r", 2), ("final", 3)), 50):
            at = {"client": client, "topic": "t", "partition": 0, "outcome": "ok"}
            recorder.add(Operation(op=op, kind="fetch", call_ns=op, return_ns=op + 1, **at))
            for value in range(10):
                row: dict[str, Any] = {
                    "offset": value,
                    "value": 100 + value,
                    "position": value,
                    "prev_offset": value - 1,
                }
                recorder.add(Record(op=op, side="seen", stream=stream, **row, **at))
        recorder.add(Event(kind="final-read", at_ns=99, topic="t", partition=0, offset=10))
    return History.open(folder)


@pytest.mark.parametrize("seed", range(4))
def test_a_planted_loss_is_a_loss_and_nothing_else(tmp_path, seed):
    history = healthy(tmp_path / "healthy")
    assert judge(history).anomalies == []
    node_control = chaos.a_victim(history, Random(seed))
    chaos.without(history, node_control, tmp_path / "planted")
    found = judge(History.open(tmp_path / "planted")).anomalies

    assert {anomaly.name for anomaly in found} <= {"lost-write", "unseen"}
    assert [anomaly.values for anomaly in found] == [(node_control.value,)]


class OutOfRange:
    """In place of a message: the library's word that the broker denied a position."""

    def topic(self):
        return "t"

    def partition(self):
        return 0


@pytest.mark.parametrize(("delivered", "asked_next"), [(None, 0), (0, 1), (7, 8)])
def test_a_reader_that_is_told_out_of_range_goes_on_behind_what_it_has(context, delivered, asked_next):
    sought, rows = [], Rows()
    context.recorder = rows
    reader = Reader(context, "consumer-1")
    reader.assign([("t", 0)])
    reader.streams["t", 0].prev = delivered
    reader.consumer.close()
    reader.consumer = type("Consumer", (), {"seek": lambda _, place: sought.append(place.offset)})()
    reader._told_out_of_range(OutOfRange(), 1, 2)

    assert sought == [asked_next]
    assert ("out-of-range", {"client": "consumer-1", "topic": "t", "partition": 0, "offset": asked_next}) in rows.rows


def test_a_reader_goes_back_once_the_library_is_ready(context):
    """A seek is refused as erroneous state while the leader of the partition is away."""
    sought, not_ready = [], [KafkaException(KafkaError(KafkaError._STATE))]

    def seek(_, place):
        if not_ready:
            raise not_ready.pop()
        sought.append(place.offset)

    context.recorder = Rows()
    reader = Reader(context, "consumer-1")
    reader.assign([("t", 0)])
    reader.consumer.close()
    reader.consumer = type("Consumer", (), {"seek": seek, "consume": lambda *_: []})()
    reader._told_out_of_range(OutOfRange(), 1, 2)
    assert sought == []
    reader.poll()
    reader.poll()

    assert sought == [0]


def test_commits_ask_a_broker_for_no_producer_id(context, rows):
    """A broker without InitProducerId is not asked for what the workload does not name among its APIs."""
    workload = Commits()
    context.stopping.set()
    for actor in workload.clients(context, {"group": "g"}):
        if actor.name.startswith("plain-producer"):
            actor.run()
    made = [row for row in rows.rows if isinstance(row, Client)]
    assert len(made) == workload.producers
    assert "InitProducerId" in workload.apis or not any(client.idempotence for client in made)


def test_a_slow_broker_that_is_isolated_still_answers_before_it_is_back(context):
    context.case_context = msgspec.structs.replace(context.case_context, latency_ms=CAP_MS)
    settings = context.producer_settings("producer-1")
    assert 1_500 < settings["request.timeout.ms"] < FOR_S * 1_000 / 2 < settings["socket.timeout.ms"]
