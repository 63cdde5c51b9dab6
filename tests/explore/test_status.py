"""Only a difference from Apache Kafka that breaks a must, shows each time and is not known, fails an exploration."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import msgspec
import pytest

from brokertrial.ci.commands.explore import status, summary
from brokertrial.ci.exploration_report import html, markdown
from brokertrial.suites.explore.comparison import AnswerDifference, DifferingField, compared
from brokertrial.suites.explore.finding import ShownExchange, ShownPlace, ShrunkDifference
from brokertrial.suites.explore.known_differences import KnownDifference, marked, read, stale
from brokertrial.suites.explore.peer import Reply
from brokertrial.suites.explore.promises import broken_by
from brokertrial.suites.explore.record import ExplorationRecord
from brokertrial.suites.running.bad_options import BadOptions
from brokertrial.wire import errors

CAUSE = "Produce: responses.partition_responses.error_code OUT_OF_ORDER_SEQUENCE_NUMBER / NONE"
PLACE = ShownPlace("responses[0].partition_responses[0].error_code", "OUT_OF_ORDER_SEQUENCE_NUMBER (45)", "NONE (0)")
STORY = ShownExchange("Produce", 9, 0, {"acks": -1}, {"error_code": 45}, {"error_code": 0})


def finding(**changes: object) -> ShrunkDifference:
    found = ShrunkDifference(
        CAUSE, "Produce", 9, (PLACE,), (STORY,), ((0,),), 20, 3.0, "idem-005", "a gap is accepted", 3, 3
    )
    return msgspec.structs.replace(found, **changes)


def record(*findings: ShrunkDifference, is_kafka: bool = True, requests: int = 100) -> ExplorationRecord:
    return ExplorationRecord(
        "file:x.toml", "kafka:4.4.0", is_kafka, "4.4.0", "1", 1, 1.0, "2026-11-24T10:00:00", (), 60.0, 5, requests, 50,
        0, findings, {"Produce": (3, 13)}, (("Produce", 9, "NONE", "", 7),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "is_kafka", "expected"),
    [
        (finding(), True, 1),
        (finding(), False, 0),
        (finding(reproduced=2), True, 0),
        (finding(checks=0, reproduced=0), True, 0),
        (finding(checks=1, reproduced=1), True, 0),
        (finding(known="fixed in 2.4"), True, 0),
        (finding(guarantee=""), True, 0),
        (finding(guarantee="idem-010"), True, 0),
    ],
    ids=["breaks", "bundled", "not each time", "not checked", "checked once", "known", "no guarantee", "should"],
)
def test_what_fails(found: ShrunkDifference, is_kafka: bool, expected: int) -> None:
    assert status(record(found, is_kafka=is_kafka)) == expected


def test_nothing_asked_is_not_green() -> None:
    assert status(record(requests=0)) == 5
    assert status(record()) == 0
    assert status(msgspec.structs.replace(record(), given_up=("it did not serve again",))) == 6


def test_the_pages_tell_the_story() -> None:
    told = record(finding())
    for page in (markdown(told), html(told)):
        assert "OUT_OF_ORDER_SEQUENCE_NUMBER" in page
        assert "idem-005" in page
        assert "3 of 3" in page
    assert "1 differences: 1 break a guarantee" in summary(told)


def test_a_known_difference_is_one_until_its_day(tmp_path: Path) -> None:
    known = [
        KnownDifference("Produce: *OUT_OF_ORDER* / NONE", "fixed in 2.4", date(2027, 3, 1)),
        KnownDifference("Fetch: x", "no"),
    ]
    (before,) = marked([finding()], known, date(2027, 2, 28))
    (after,) = marked([finding()], known, date(2027, 3, 1))
    assert (before.known, after.known) == ("fixed in 2.4", "")
    assert stale([finding()], known) == ("Fetch: x",)

    path = tmp_path / "known.toml"
    path.write_text(f'[[known]]\ncause = "{CAUSE}"\nreason = "r"\n', "utf-8")
    assert read(path)[0].cause == CAUSE
    path.write_text('[[known]]\ncause = "x"\n', "utf-8")
    with pytest.raises(BadOptions):
        read(path)


@pytest.mark.parametrize(
    ("api", "path", "oracle", "target", "guarantee"),
    [
        ("Produce", "responses[0].partition_responses[0].error_code", errors.INVALID_PRODUCER_EPOCH, 0, "idem-009"),
        ("Produce", "responses[0].partition_responses[0].error_code", 0, errors.INVALID_PRODUCER_EPOCH, None),
        ("OffsetFetch", "groups[g].topics[t]", {"name": "t"}, "absent", "cmt-016"),
        ("Fetch", "responses[0].partitions[0].records[0].content[0]", [1], [2], "fetch-002"),
        ("DescribeConfigs", "results[0].configs[0].is_sensitive", True, False, None),
    ],
)
def test_which_guarantee_a_difference_breaks(
    api: str, path: str, oracle: object, target: object, guarantee: str | None
) -> None:
    harm = broken_by(AnswerDifference(api, 9, (DifferingField(path, oracle, target),)))
    assert (harm.guarantee if harm else None) == guarantee


def test_what_else_is_in_a_refusal_is_no_promise() -> None:
    oracle, target = (Reply({"error_code": 50, "producer_id": -1, "producer_epoch": epoch}) for epoch in (-1, 0))
    difference = compared("InitProducerId", 5, oracle, target)
    assert difference is not None
    assert broken_by(difference) is None
    accepted = (Reply({"error_code": 0, "producer_id": 1, "producer_epoch": epoch}) for epoch in (1, 0))
    broken = compared("InitProducerId", 5, *accepted)
    assert broken is not None
    assert broken_by(broken) is not None
