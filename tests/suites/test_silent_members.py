"""A member that was refused as unknown: whether this probe had let it fall silent for its session."""

from __future__ import annotations

import pytest

from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.silent_members import silent_member
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, request, response

FAILURE = "Heartbeat v4: error_code is UNKNOWN_MEMBER_ID (25); it must succeed"


def exchange(asked: Struct, answer: Struct, sent_ms: int, received_ms: int | None = None) -> PendingExchange:
    made = PendingExchange(asked, 4, b"", sent_ms * 1_000_000, "node 1", lambda _: None)
    made.answer, made.received_ns = answer, (sent_ms + 5 if received_ms is None else received_ms) * 1_000_000
    return made


def joined(member: str, session_ms: int, sent_ms: int, received_ms: int | None = None) -> PendingExchange:
    asked = request("JoinGroup", group_id="g", session_timeout_ms=session_ms, protocol_type="consumer")
    return exchange(asked, response("JoinGroup", member_id=member), sent_ms, received_ms)


def beat(member: str, sent_ms: int, code: int = 0) -> PendingExchange:
    asked = request("Heartbeat", group_id="g", generation_id=1, member_id=member)
    return exchange(asked, response("Heartbeat", error_code=code), sent_ms)


UNKNOWN = errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("story", "excused"),
    [
        ([joined("m", 3_000, 0), beat("m", 3_100, UNKNOWN)], True),
        ([joined("m", 3_000, 0), beat("m", 1_000, UNKNOWN)], False),
        ([joined("m", 3_000, 0), beat("m", 2_000), beat("m", 3_100, UNKNOWN)], False),
        ([joined("m", 3_000, 0), beat("m", 2_000, errors.NOT_COORDINATOR), beat("m", 3_100, UNKNOWN)], True),
        ([joined("m", 3_000, 0), joined("n", 60_000, 0), beat("n", 3_000), beat("m", 3_100, UNKNOWN)], True),
        ([joined("m", 3_000, 0, received_ms=2_900), beat("m", 3_100, UNKNOWN)], False),
        ([beat("m", 90_000, UNKNOWN)], False),
        ([joined("m", 3_000, 0), beat("m", 9_000)], False),
        ([], False),
    ],
    ids=[
        "silent for its session",
        "expelled too early",
        "served since",
        "only turned away since",
        "another was served",
        "waited in the join",
        "never known",
        "not refused",
        "nothing",
    ],
)
def test_who_is_excused(story: list[PendingExchange], excused: bool) -> None:
    assert bool(silent_member(story, FAILURE)) is excused


@pytest.mark.parametrize(
    ("failure", "excused"),
    [
        ("Heartbeat v0: error_code is UNKNOWN_MEMBER_ID (25); it must be ILLEGAL_GENERATION (22)", True),
        ("Heartbeat v0: error_code is ILLEGAL_GENERATION (22); it must be UNKNOWN_MEMBER_ID (25)", False),
        ("DescribeGroups v5: groups[0].members is empty", False),
    ],
)
def test_what_is_excused(failure: str, excused: bool) -> None:
    silent = [joined("m", 3_000, 0), beat("m", 3_100, UNKNOWN)]
    assert bool(silent_member(silent, failure)) is excused


def test_another_failure_is_not_excused() -> None:
    story = [joined("m", 3_000, 0), beat("m", 3_100, UNKNOWN)]
    assert not silent_member(story, "the member is still there")


def test_the_session_of_a_consumer_group_is_what_the_case_has_set() -> None:
    setting = {"name": "consumer.session.timeout.ms", "config_operation": 0, "value": "3000"}
    rows = [{"resource_type": 32, "resource_name": "g", "configs": [setting]}]
    altered = exchange(request("IncrementalAlterConfigs", resources=rows), response("IncrementalAlterConfigs"), 0)

    def heard(at_ms: int, code: int = 0) -> PendingExchange:
        asked = request("ConsumerGroupHeartbeat", group_id="g", member_id="m")
        return exchange(asked, response("ConsumerGroupHeartbeat", member_id="m", error_code=code), at_ms)

    assert silent_member([altered, heard(10), heard(3_200, UNKNOWN)], FAILURE)
    assert not silent_member([heard(10), heard(3_200, UNKNOWN)], FAILURE)


@pytest.mark.parametrize(("session_ms", "excused"), [(3_000, True), (10_000, False), (None, False)])
def test_a_consumer_has_the_session_of_the_cluster(session_ms: int | None, excused: bool) -> None:
    asked = request("ConsumerGroupHeartbeat", group_id="g", member_id="m", member_epoch=1)
    story = [
        exchange(asked, response("ConsumerGroupHeartbeat", member_id="m"), 10),
        exchange(asked, response("ConsumerGroupHeartbeat", error_code=UNKNOWN), 3_100),
    ]
    failure = FAILURE.replace("Heartbeat v4", "ConsumerGroupHeartbeat v1")
    assert bool(silent_member(story, failure, session_ms)) is excused
