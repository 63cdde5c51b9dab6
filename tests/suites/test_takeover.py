"""late-takeover: what a member owned that was cut off is handed to another within two session timeouts."""

import pytest

from brokertrial.histories.rows import Event, Membership
from brokertrial.histories.windows import fault_windows
from brokertrial.suites.trials.late_reassignment import late_reassignments

SCHEDULE = {"windows": [{"id": "f1", "kind": "cut", "match": {"client": "*member-1*"}}]}


def ns(seconds):
    return int(seconds * 1e9)


def events(end=14.0):
    return [
        Event(kind="window-begin", window="f1", at_ns=0),
        Event(kind="window-end", window="f1", at_ns=ns(end)),
    ]


def owned(client, since, until=None, *, partition=0, generation=1):
    return Membership(
        group="g",
        member=client,
        client=client,
        generation=generation,
        topic="t",
        partition=partition,
        from_ns=ns(since),
        until_ns=None if until is None else ns(until),
    )


def late(*rows, end=14.0, schedule=SCHEDULE):
    return [
        row.partition for row in late_reassignments("grp-011", fault_windows(events(end), schedule), 12.0, list(rows))
    ]


MINE = owned("a-member-1.1", -3)


def test_a_partition_that_nobody_else_is_given_is_late():
    (found,) = late_reassignments("grp-011", fault_windows(events(), SCHEDULE), 12.0, [MINE])
    assert found.name == "late-takeover" and found.attribution == "broker" and found.partition == 0
    assert found.sentence == (
        "a-member-1.1 owned t-0 when it was cut off, and 12 s later (2 session timeouts) "
        "no other member of group g had been given it."
    )


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([MINE, owned("b-member-2.1", 11.9, generation=2)], id="taken-over-in-time"),
        pytest.param([owned("a-member-1.1", -3, -1)], id="given-back-before"),
        pytest.param([owned("a-member-1.1", 1)], id="given-only-after"),
        pytest.param([owned("b-member-2.1", -3)], id="of-a-member-that-was-not-cut-off"),
        pytest.param([owned("a-member-1.1", -3, generation=-1)], id="only-the-client-says-so"),
    ],
)
def test_near_misses(rows):
    assert late(*rows) == []


def test_too_late_is_late():
    assert late(MINE, owned("b-member-2.1", 12.1, generation=2)) == [0]


def test_its_own_return_is_no_takeover():
    assert late(MINE, owned("a-member-1.1", 5, generation=2)) == [0]


def test_another_partition_is_no_takeover():
    assert late(MINE, owned("b-member-2.1", 7, partition=1, generation=2)) == [0]


def test_a_cut_that_is_healed_before_says_nothing():
    assert late(MINE, end=11.0) == []


def test_other_faults_say_nothing():
    assert late(MINE, schedule={"windows": [{"id": "f1", "kind": "delay", "match": {"client": "*member-1*"}}]}) == []


def test_of_a_cut_whose_end_is_not_known_nothing_is_said():
    begun = [events()[0], Event(kind="phase", at_ns=ns(60))]
    assert not list(late_reassignments("grp-011", fault_windows(begun, SCHEDULE), 12.0, [MINE]))
