"""What a member of a share group has still to acknowledge, as acknowledgements come in."""

from __future__ import annotations

import pytest

from brokertrial.suites.explore.share_model import ModelShareGroup, ModelShareMember, OffsetRange
from brokertrial.suites.explore.step import TOPIC, Symbol

PLACE = (Symbol(TOPIC, 1), 0)


@pytest.mark.parametrize(
    ("done", "left"),
    [
        ((0, 4), [(7, 8)]),
        ((0, 0), [(1, 4), (7, 8)]),
        ((2, 3), [(0, 1), (4, 4), (7, 8)]),
        ((3, 7), [(0, 2), (8, 8)]),
        ((5, 6), [(0, 4), (7, 8)]),
        ((0, 8), None),
    ],
)
def test_what_is_acknowledged_is_no_longer_held(done: OffsetRange, left: list[OffsetRange] | None) -> None:
    member = ModelShareMember("m", 0, frozenset())
    member.acquire(PLACE, [(0, 4)])
    member.acquire(PLACE, [(7, 8)])
    member.give_back(PLACE, done)
    assert member.held.get(PLACE) == left


def test_members_name_themselves_as_clients_do_and_alike_for_both_brokers() -> None:
    one, other = ModelShareGroup("g"), ModelShareGroup("g")
    names = [one.new_member_id() for _ in range(5)]
    assert names == [other.new_member_id() for _ in range(5)]
    assert len(set(names)) == len(names)
    assert {len(name) for name in names} == {22}


def test_a_restart_leaves_no_session_and_nothing_acquired() -> None:
    member = ModelShareMember("m", 0, frozenset(), session=3, asked=[PLACE], held={PLACE: [(0, 1)]})
    group = ModelShareGroup("g", [member], warm={PLACE})
    group.forget_sessions()
    assert (member.session, member.asked, member.held, group.warm) == (None, [], {}, set())


def test_records_of_a_connection_that_ended_are_free_again_at_a_time_that_is_not_known() -> None:
    idle = ModelShareMember("m", 0, frozenset(), session=3, asked=[PLACE])
    busy = ModelShareMember("n", 1, frozenset(), session=2, held={PLACE: [(0, 1)]})
    group = ModelShareGroup("g", [idle, busy])
    group.disconnected(0)
    assert (idle.session, busy.session, group.unclear) == (None, 2, False)
    group.disconnected(1)
    assert (busy.session, group.unclear) == (None, True)
