"""Behaviour that is legal and looks wrong: the cases about reading let it pass, and not its illegal twin."""

from __future__ import annotations

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import by_id
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.probe.wire import Wire
from tests.cases.one_partition import OnePartition
from tests.suites.scripted import SCENE


def verdict(case_id: str, broker: OnePartition) -> Verdict:
    exchanger = broker.exchanger()
    outcome = attempt(by_id()[case_id], Wire(exchanger, SCENE, [("h", 9)]), exchanger, {}, lambda: True)
    assert outcome.verdict is not Verdict.INCONCLUSIVE, outcome.reason
    return outcome.verdict


READING = [
    "fetch/below-the-high-watermark",
    "fetch/inside-a-batch",
    "fetch/outside-the-log",
    "fetch/watermarks-never-fall",
    "ordering/offsets-rise",
    "ordering/offsets-are-dense",
]


@pytest.mark.parametrize("case_id", READING)
def test_a_plain_broker_passes(case_id):
    assert verdict(case_id, OnePartition()) is Verdict.PASS


def test_records_above_the_high_watermark_of_the_same_answer_are_legal():
    """Kafka samples the high watermark first, and reads then."""
    assert verdict("fetch/below-the-high-watermark", OnePartition(late_watermark=True)) is Verdict.PASS
    assert verdict("fetch/below-the-high-watermark", OnePartition(printed=-1)) is Verdict.FAIL


def test_a_batch_that_is_cut_at_the_end_of_an_answer_is_legal():
    """Size limits cut what does not fit; a reader leaves it out and asks again."""
    assert verdict("fetch/inside-a-batch", OnePartition(cut=batch("x" * 500)[:300])) is Verdict.PASS


def test_out_of_range_comes_without_high_watermark_and_log_start():
    """On an error Kafka prints -1 for both."""
    assert verdict("fetch/outside-the-log", OnePartition()) is Verdict.PASS


def test_holes_between_offsets_are_legal_and_only_noted():
    """Markers, compaction and records of the broker's own leave holes."""
    assert verdict("ordering/offsets-rise", OnePartition(holes=1)) is Verdict.PASS
    assert verdict("ordering/offsets-are-dense", OnePartition(holes=1)) is Verdict.FAIL
    assert by_id()["ordering/offsets-are-dense"].level == "should"
