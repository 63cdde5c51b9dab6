"""What ends a load early is what a check finds in the same rows; its near miss ends nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from brokertrial.checkers.judge import judge
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Operation, Record, Row
from brokertrial.suites.case import by_id
from brokertrial.suites.trials.facts import KIND
from brokertrial.suites.trials.sightings import Sightings, WatchedRecorder
from brokertrial.suites.trials.verdict import judged

DURABLE = Client(client="w", library="librdkafka", acks=-1, idempotence=True, mode="none")
WEAK = Client(client="w", library="librdkafka", acks=1, idempotence=False, mode="none")
PLAIN = Client(client="r", library="librdkafka", isolation="read_uncommitted", mode="assign")
COMMITTED = Client(client="r", library="librdkafka", isolation="read_committed", mode="assign")
SECOND = 1_000_000_000


def op(number: int, kind: str, client: str = "w", **more: object) -> Operation:
    given = {"call_ns": number * SECOND, "return_ns": number * SECOND + 1, "outcome": "ok", **more}
    return Operation(op=number, client=client, kind=kind, **given)  # type: ignore[arg-type]


def sent(number: int, offset: int, value: int, txn: int | None = None, outcome: str = "ok") -> list[Row]:
    told = {"topic": "t", "partition": 0, "outcome": outcome, "txn": txn}
    record = Record(op=number, client="w", offset=offset, value=value, side="sent", position=0, **told)  # type: ignore[arg-type]
    return [op(number, "send", base_offset=offset, count=1, **told), record]


def read(number: int, prev: int, offset: int, value: int | None, intact: bool = True, stream: int = 1) -> list[Row]:
    record = Record(op=number, client="r", topic="t", partition=0, offset=offset, value=value, side="seen",
                    stream=stream, position=offset, prev_offset=prev, intact=intact, digest=None if intact else "x",
                    outcome="ok")  # fmt: skip
    return [op(number, "poll", "r", topic="t", partition=0, base_offset=offset, count=1), record]


def told(number: int, epoch: int, **levels: int) -> list[Row]:
    return [op(number, "fetch", "r", topic="t", partition=0, node=1, leader_epoch=epoch, **levels)]


def aborted(number: int, txn: int) -> list[Row]:
    return [op(number, "abort_txn", txn=txn, transactional_id="x")]


def asked_to_commit(number: int, txn: int) -> list[Row]:
    return [op(number, "commit_txn", txn=txn, transactional_id="x", outcome="info", return_ns=None)]


SEEN = {
    "offset-reuse": [[DURABLE, PLAIN], sent(1, 7, 70), sent(2, 7, 71), read(3, 6, 7, 70)],
    "inconsistent-offsets": [[DURABLE, PLAIN], sent(1, 7, 70), read(2, 6, 7, 71)],
    "phantom": [[DURABLE, PLAIN], sent(1, 7, 70), read(2, 6, 7, 70, intact=False)],
    "duplicate": [[DURABLE, PLAIN], sent(1, 7, 70), read(2, 6, 7, 70), read(3, 7, 8, 70)],
    "lost-write": [[DURABLE, PLAIN], sent(1, 6, 60), sent(2, 7, 70), read(3, 5, 6, 60), sent(4, 8, 80),
                   read(5, 6, 8, 80)],
    "poll-skip": [[DURABLE, PLAIN], sent(1, 6, 60), sent(2, 7, 70), sent(4, 8, 80), read(5, 6, 7, 70, stream=2),
                  read(6, 5, 6, 60), read(7, 6, 8, 80)],
    "nonmonotonic-poll": [[DURABLE, PLAIN], sent(1, 6, 60), sent(2, 7, 70), read(3, 6, 7, 70), read(4, 7, 6, 60)],
    "aborted-read": [[DURABLE, COMMITTED], sent(1, 7, 70, txn=1), aborted(2, 1), read(3, 6, 7, 70)],
    "high-watermark-regression": [[DURABLE, PLAIN], sent(1, 7, 70), read(2, 6, 7, 70), told(3, 4, high_watermark=9),
                                  told(4, 4, high_watermark=7)],
    "lso-regression": [[DURABLE, PLAIN], sent(1, 7, 70), read(2, 6, 7, 70), told(3, 4, last_stable=9),
                       told(4, 4, last_stable=7)],
}  # fmt: skip
NEAR_MISSES = {
    "an offset again, of acks=1": [[WEAK, PLAIN], sent(1, 7, 70), sent(2, 7, 71)],
    "an acknowledgement of acks=1 that did not last": [[WEAK, PLAIN], sent(1, 7, 70), read(2, 6, 7, 71)],
    "one record read twice": [[DURABLE, PLAIN], sent(1, 7, 70), read(2, 6, 7, 70), read(3, 6, 7, 70, stream=2)],
    "stored twice without idempotence": [[WEAK, PLAIN], sent(1, 7, 70), read(2, 6, 7, 70), read(3, 7, 8, 70)],
    "a marker in the gap": [[DURABLE, PLAIN], sent(1, 6, 60), read(2, 5, 6, 60), sent(3, 8, 80), read(4, 6, 8, 80)],
    "a gap where an unknown record may lie": [[DURABLE, PLAIN], sent(1, 6, 60), sent(2, 7, 70, outcome="info"),
                                              sent(3, 8, 80), read(4, 5, 6, 60), read(5, 6, 8, 80)],
    "an aborted record in the gap of a committed reader": [[DURABLE, COMMITTED], sent(1, 6, 60), sent(2, 7, 70, txn=1),
                                                           aborted(3, 1), sent(4, 9, 90), read(5, 5, 6, 60),
                                                           read(6, 6, 9, 90)],
    "an aborted record, read uncommitted": [[DURABLE, PLAIN], sent(1, 7, 70, txn=1), aborted(2, 1), read(3, 6, 7, 70)],
    "a commit that was asked for before the abort": [[DURABLE, COMMITTED], sent(1, 7, 70, txn=1), asked_to_commit(2, 1),
                                                     aborted(3, 1), read(4, 6, 7, 70)],
    "a lower end in the next epoch": [[DURABLE, PLAIN], told(3, 4, high_watermark=9), told(4, 5, high_watermark=7)],
    "a lower end asked for before the higher was told": [[DURABLE, PLAIN], told(3, 4, high_watermark=9),
                                                         [op(2, "fetch", "r", topic="t", partition=0, node=1,
                                                             leader_epoch=4, high_watermark=7)]],
}  # fmt: skip


@pytest.fixture
def history(tmp_path: Path) -> Callable[[list[Row]], tuple[History, str]]:
    """The rows as a history, and what was sighted in them."""

    def write(rows: list[Row], **conclusion: object) -> tuple[History, str]:
        with Recorder.create(tmp_path / "h", Header(case="idempotence/lost-ack", target="t", nodes=3)) as recorder:
            watched = WatchedRecorder(recorder)
            for row in rows:
                watched.add(row)
            sightings = Sightings(watched)
            sightings.look()
            watched.event(KIND, seen={"sighted": sightings.first, **conclusion})
        return History.open(tmp_path / "h"), sightings.first

    return write


@pytest.mark.parametrize("order", ["as it came", "any"])
@pytest.mark.parametrize("name", SEEN)
def test_what_is_sighted_is_found_by_its_check(
    history: Callable[[list[Row]], tuple[History, str]], name: str, order: str
) -> None:
    """Rows of several clients come in any order."""
    (clients, *steps) = SEEN[name]
    if order == "any" and "regression" not in name:
        random.Random(name).shuffle(steps)
    stored, sighted = history([row for step in (clients, *steps) for row in step])
    assert name in sighted
    assert name in {anomaly.name.removeprefix("int-") for anomaly in judge(stored, [name]).anomalies}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_not(history: Callable[[list[Row]], tuple[History, str]], name: str) -> None:
    _, sighted = history([row for step in NEAR_MISSES[name] for row in step])
    assert not sighted


def test_where_records_go_by_right_a_gap_says_nothing(tmp_path: Path) -> None:
    with Recorder.create(tmp_path / "h", Header(case="tests/case", target="t")) as recorder:
        watched = WatchedRecorder(recorder)
        for step in SEEN["lost-write"]:
            for row in step:
                watched.add(row)
        assert not Sightings(watched, ["t"]).look()


def test_what_nobody_looks_at_is_not_kept(tmp_path: Path) -> None:
    with Recorder.create(tmp_path / "h", Header(case="tests/case", target="t")) as recorder:
        watched = WatchedRecorder(recorder)
        watched.add(DURABLE)
        watched.close()
        watched.add(PLAIN)
        assert not list(watched.taken())
    assert len(list(History.open(tmp_path / "h").rows("clients"))) == 2


def test_a_sighting_that_no_check_confirms_is_ours_and_no_pass(
    history: Callable[..., tuple[History, str]],
) -> None:
    case = by_id()["idempotence/lost-ack"]
    rows: list[Row] = [DURABLE, PLAIN, *sent(1, 0, 70), *read(2, -1, 0, 70)]
    stored, _ = history(rows, sighted="offset-reuse in t-0", warm=True)
    outcome = judged(case, stored)
    assert outcome.verdict.value == "inconclusive" and outcome.reason is not None
    assert outcome.reason.kind == "suite" and "no check finds it" in outcome.reason.sentence
