"""Helpers ask as ordinary clients do; a broker that cannot take an odd form fails the case about it, and no other."""

from __future__ import annotations

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.reference_impl.broker import node
from brokertrial.suites.case import Case, by_id
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.replay import ReplayExchanger
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire.frames import decode_request
from brokertrial.wire.messages import response
from brokertrial.wire.records import NO_TIMESTAMP, Record, batches
from tests.suites import bad_broker
from tests.suites.in_process import told, tried
from tests.suites.scripted import TOPIC, ScriptedExchanger, produced

WHEN = 1_700_000_000_000
SCENE = CaseContext(prefix="bt-x", case="tests/case", time_ms=WHEN)


def three_forms(wire):
    """It MUST hold."""
    wire.produce(TOPIC, batch("a"))
    wire.produce(TOPIC, batch(records=[Record(b"k", b"b")]))
    wire.produce(TOPIC, ["c"])
    wire.produce(TOPIC, batch("d", timestamp=NO_TIMESTAMP))
    wire.produce(TOPIC, batch(records=[Record(b"k", b"e", timestamp=5), Record(b"k", b"f")]))
    wire.fetch(TOPIC)


def empty(asked):
    rows = [{"partition_index": 0, "records": b""}]
    return response("Fetch", responses=[{"topic_id": asked.topics[0].topic_id, "partitions": rows}])


def case_of(function):
    return Case("tests/case", function, ("prod-001",), (), {}, {}, False, None)


def test_records_have_the_time_of_the_case_and_a_fetch_waits():
    exchanger = ScriptedExchanger(Produce=produced(), Fetch=empty)
    wire = Wire(exchanger, SCENE, [("h", 9)])
    live = attempt(case_of(three_forms), wire, exchanger, {}, lambda: True)
    assert live.verdict is Verdict.PASS, live
    asked = [decode_request(entry.data[4:])[1] for entry in exchanger.tape if entry.kind == "request"]
    sent = [struct.topic_data[0].partition_data[0].records for struct in asked if struct._api == "Produce"]
    times = [[record.timestamp for part in batches(data) for record in part.records()] for data in sent]
    assert times == [[WHEN], [WHEN], [WHEN], [-1], [5, -1]]
    (fetch,) = [struct for struct in asked if struct._api == "Fetch"]
    assert (fetch.max_wait_ms, fetch.min_bytes) == (500, 1)

    again = ReplayExchanger(exchanger.tape)
    assert attempt(case_of(three_forms), Wire(again, SCENE, [("", 0)]), again, {}, lambda: True) == live
    assert again.left == 0
    assert next(batches(batch("x"))).header.base_timestamp == NO_TIMESTAMP, "outside of a case it has none"


@pytest.mark.parametrize(
    ("habit", "decides", "others"),
    [
        ("closes_on_no_timestamp", "records/times-are-kept", ["produce/base-offset", "offsets/ends"]),
        ("closes_on_no_wait", "fetch/at-the-end", ["fetch/below-the-high-watermark", "offsets/ends"]),
        ("closes_on_broker_settings", "admin/described-settings", ["produce/batch-shapes", "groups/session-bounds"]),
        ("closes_on_new_metadata", "protocol/all-topics-or-none", ["produce/base-offset", "admin/created-as-asked"]),
    ],
)
def test_one_bad_habit_fails_the_case_about_it(habit, decides, others, tmp_path, monkeypatch):
    """Of 217 wire cases 73, 36, 29 and 209 failed, each of one cause."""
    monkeypatch.setattr(node, "dispatch", node.dispatch)  # put back afterwards
    bad_broker.plant(habit)
    assert tried(by_id()[decides], tmp_path / "decides").verdict is Verdict.FAIL
    for number, name in enumerate(others):
        outcome = tried(by_id()[name], tmp_path / str(number))
        assert outcome.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE), (name, told(outcome))
