"""A small run told by hand: every verdict once, with a history behind the trial."""

from __future__ import annotations

import json
import random
from datetime import date
from pathlib import Path

import pytest

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports.run_state import RunState
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Operation
from brokertrial.histories.rows import Event as HistoryEvent
from brokertrial.suites.events import CaseFinished, CaseInfo, CaseStarted, LeftOut, RunEvent, RunFinished, RunStarted
from brokertrial.suites.result import Attempt, CaseResult, Evidence, KafkaProof, LogLine, Reason

SECOND = 1_000_000_000
TODAY = date(2026, 11, 21)

PASSED = CaseResult(
    case="offsets/by-time-within-a-batch",
    statement="A query by time MUST name the first record at or after it, even inside a batch.",
    guarantees=("offs-002",),
    level="must",
    verdict=Verdict.PASS,
    duration_s=0.21,
    seed=42,
)
FAILED = CaseResult(
    case="idempotence/lost-ack",
    statement="A batch re-sent because its answer was lost MUST be in the log exactly once, where it was first.",
    guarantees=("idem-002", "ord-003"),
    level="must",
    verdict=Verdict.FAIL,
    reason=Reason("anomaly", "2 records of producer 17 are in the log twice"),
    attempts=(Attempt(42, Verdict.FAIL, None, "histories/idempotence.lost-ack"),),
    anomalies=(
        Anomaly(
            name="duplicate",
            guarantee="idem-002",
            topic="t",
            partition=1,
            offsets=(412, 431),
            values=(8812,),
            operations=(8812, 8930),
            sentence="value 8812 was sent once (op 8812) and is in t-1 at offsets 412 and 431.",
            strength="integrity",
            attribution="broker",
        ),
    ),
    evidence=(
        Evidence("drop_response", "Produce  node 1  t-1", at_s=3.031, window="f1"),
        Evidence("send", "t-1  value 8812  sequence 96", "ok", 3.030, 8812),
        Evidence("read", "t-1  offset 412  value 8812", "ok", 9.912, 8930),
        Evidence("read", "t-1  offset 431  value 8812", "ok", 9.912, 8930, note="the same record again"),
    ),
    seed=42,
    schedule='[{"id": "f1", "kind": "drop_response", "params": {"api": "Produce", "every": 7, "times": 20}}]',
    duration_s=11.4,
    history="histories/idempotence.lost-ack",
    facts={"acknowledged": 20481, "while a fault was active": 1804, "hits of f1": 20, "warm-up latency ms": 1.73},
    log_lines=(LogLine(1, "WARN out of order sequence <for> producer 17 & epoch 0", 3.1),),
    proof=KafkaProof(("Apache Kafka 4.4.0, 2026-11-20",), ("M05", "M06")),
)
WRONG_ANSWER = CaseResult(
    case="protocol/unknown-tag",
    statement="A tagged field that the broker does not know MUST be ignored.",
    guarantees=("proto-004",),
    level="must",
    verdict=Verdict.FAIL,
    reason=Reason("statement", "error_code must be NONE (0); it is UNKNOWN_SERVER_ERROR (-1)"),
    evidence=(
        Evidence(
            "request", "Metadata v12\n  topics\n    name  t\n  _tags {99: 00ff}", at_s=0.010, bytes_hex="0003000c"
        ),
        Evidence("answer", "Metadata v12\n  topics\n    error_code  -1\n    name  t", at_s=0.011, marked=(2,)),
    ),
    seed=42,
    duration_s=0.02,
)
INCONCLUSIVE = CaseResult(
    case="chaos/kill-leader",
    statement="Records that were acknowledged before the leader was killed MUST be readable afterwards.",
    guarantees=("dur-001",),
    level="must",
    verdict=Verdict.INCONCLUSIVE,
    reason=Reason("no-hit", "fault f2 (kill -9 of the leader of t-0) was scheduled but never triggered"),
    attempts=(
        Attempt(
            42,
            Verdict.INCONCLUSIVE,
            Reason("no-hit", "fault f2 was scheduled but never triggered"),
            "histories/chaos.kill-leader",
        ),
        Attempt(
            43,
            Verdict.INCONCLUSIVE,
            Reason("no-hit", "fault f2 was scheduled but never triggered"),
            "histories/chaos.kill-leader.2",
        ),
    ),
    seed=43,
    duration_s=14.0,
)
ABSENT = CaseResult(
    case="compaction/latest-value-stays",
    statement="The latest value of a key MUST survive compaction.",
    guarantees=("cmp-001",),
    level="must",
    verdict=Verdict.NOT_APPLICABLE,
    reason=Reason("not-offered", "the broker does not compact (cleanup.policy=compact is refused)"),
)
SHOULD = CaseResult(
    case="fetch/empty-answer-waits",
    statement="A fetch that finds nothing SHOULD wait for max_wait_ms.",
    guarantees=("fetch-003",),
    level="should",
    verdict=Verdict.FAIL,
    reason=Reason("statement", "answered after 2 ms; max_wait_ms was 500"),
    duration_s=0.6,
)
RESULTS = (PASSED, FAILED, WRONG_ANSWER, INCONCLUSIVE, ABSENT, SHOULD)


def events_of(results: tuple[CaseResult, ...], folder: Path, status: int = 1) -> list[RunEvent]:
    """The events that a run with these results would have sent."""
    infos = tuple(CaseInfo(r.case, r.statement, r.level, r.guarantees, estimate_s=2.0) for r in results)
    left_out = (LeftOut("chaos/pause-leader", "not in the smoke profile"),)
    started = RunStarted(
        str(folder),
        "reference?mutant=M05",
        "reference 0.1",
        "smoke",
        42,
        "2026-11-21T19:00:00+00:00",
        40.0,
        infos,
        left_out,
    )
    told: list[RunEvent] = [started]
    for index, result in enumerate(results, 1):
        told += [CaseStarted(result.case, index, len(results)), CaseFinished(result)]
    return [*told, RunFinished(status=status, duration_s=38.2)]


def record_trial(folder: Path, header: Header | None = None) -> Path:
    """A history of ten seconds with two fault windows."""
    rng = random.Random(7)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Recorder.create(
        folder, header or Header(case=FAILED.case, target="reference?mutant=M05", seed=42)
    ) as recorder:
        start = _started(folder)
        recorder.add(Client(client="p-1", library="confluent-kafka", acks=-1, idempotence=True))
        at = 0.05
        while at < 10:
            faulty = 3 < at < 5 or 7 < at < 7.6
            latency = rng.lognormvariate(5 if faulty else 0.5, 0.5) / 1e3
            recorder.add(_send(recorder.next_op(), start, at, latency, rng.randrange(3)))
            at += rng.expovariate(60 if faulty else 400)
        for window, kind, begin, end in (("f1", "drop_response", 3, 5), ("f2", "pause", 7, 7.6)):
            fields = json.dumps({"text": kind})
            recorder.add(
                HistoryEvent(kind="window-begin", at_ns=start + int(begin * SECOND), window=window, fields=fields)
            )
            recorder.add(HistoryEvent(kind="window-healed", at_ns=start + int(end * SECOND), window=window))
        recorder.close(complete=True)
    return folder


def _started(folder: Path) -> int:
    return History.open(folder, allow_incomplete=True).title.started_ns


def _send(op: int, start: int, at: float, latency: float, partition: int) -> Operation:
    call = start + int(at * SECOND)
    done = call + int(latency * SECOND)
    return Operation(
        op=op,
        client="p-1",
        kind="send",
        topic="t",
        partition=partition,
        node=1,
        call_ns=call,
        return_ns=done,
        outcome="ok",
    )


@pytest.fixture
def results() -> tuple[CaseResult, ...]:
    return RESULTS


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run folder with the history of its failed trial, nothing else yet."""
    folder = tmp_path / "20261121-190000-reference-42"
    record_trial(folder / "histories" / "idempotence.lost-ack")
    return folder


@pytest.fixture
def told(run_folder: Path) -> list[RunEvent]:
    return events_of(RESULTS, run_folder)


@pytest.fixture
def state(run_folder: Path, told: list[RunEvent]) -> RunState:
    """The whole run, told."""
    state = RunState(run_folder, today=TODAY)
    for event in told:
        state.on(event)
    return state
