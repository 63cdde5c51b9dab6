"""A member of a classic group joins as clients do, also when its new id is unknown already."""

from __future__ import annotations

from typing import Any

import pytest

from brokertrial.wire import errors
from brokertrial.wire.messages import response
from tests.suites.scripted import wire_to


def coordinator(asked: Any) -> Any:
    rows = [{"key": key, "node_id": 1, "host": "h", "port": 9} for key in asked.coordinator_keys]
    return response("FindCoordinator", coordinators=rows)


@pytest.mark.parametrize(
    ("forgotten", "error", "asked"),
    [(0, 0, 2), (1, 0, 4), (2, 0, 6), (9, errors.UNKNOWN_MEMBER_ID, 6)],
    ids=["never", "once", "twice", "always"],
)
def test_an_id_that_is_unknown_already_is_given_up(forgotten: int, error: int, asked: int) -> None:
    joins: list[str] = []

    def join(request: Any) -> Any:
        joins.append(request.member_id)
        if not request.member_id:
            return response("JoinGroup", error_code=errors.MEMBER_ID_REQUIRED, member_id=f"m{len(joins)}")
        unknown = sum(map(bool, joins)) <= forgotten
        code = errors.UNKNOWN_MEMBER_ID if unknown else 0
        return response("JoinGroup", error_code=code, member_id=request.member_id, generation_id=1)

    wire, _ = wire_to(FindCoordinator=coordinator, JoinGroup=join)
    assert wire.member("g").join().error == error
    wire.settle()
    assert len(joins) == asked and len(set(filter(None, joins))) == asked // 2


def test_a_member_that_was_in_the_group_is_not_taken_back() -> None:
    def join(request: Any) -> Any:
        return response("JoinGroup", error_code=errors.UNKNOWN_MEMBER_ID, member_id=request.member_id)

    wire, exchanger = wire_to(FindCoordinator=coordinator, JoinGroup=join)
    member = wire.member("g")
    member.id = "m1"
    assert member.join().error == errors.UNKNOWN_MEMBER_ID
    assert exchanger.seen.count("JoinGroup") == 1


@pytest.mark.parametrize(
    ("moved", "generation", "error", "asked"),
    [
        (0, -1, 0, 1),
        (1, -1, 0, 2),
        (9, -1, errors.NOT_COORDINATOR, 3),
        (1, 4, errors.NOT_COORDINATOR, 1),
    ],
    ids=["never", "once", "always", "was in a generation"],
)
def test_a_static_member_joins_again_when_its_coordinator_has_moved(
    moved: int, generation: int, error: int, asked: int
) -> None:
    joins: list[str] = []

    def join(request: Any) -> Any:
        joins.append(request.group_instance_id)
        code = errors.NOT_COORDINATOR if len(joins) <= moved else 0
        return response("JoinGroup", error_code=code, member_id="m1", generation_id=1)

    described = response("DescribeGroups", groups=[{"group_id": "g", "group_state": "Empty"}])
    wire, exchanger = wire_to(FindCoordinator=coordinator, JoinGroup=join, DescribeGroups=lambda _: described)
    member = wire.member("g", instance_id="i1")
    member.generation = generation
    assert member.join().error == error
    wire.settle()
    assert (len(joins), exchanger.seen.count("DescribeGroups")) == (asked, min(moved, 2) if generation < 0 else 0)
