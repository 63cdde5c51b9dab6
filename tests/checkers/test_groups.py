"""What a group is promised: every record to somebody, every partition to one member, every copy once."""

import pytest

from brokertrial.histories.rows import Membership


@pytest.fixture
def group(story):
    tale = story()
    tale.producer("p")
    tale.reader("r")
    tale.reader("m", group="g", auto_commit=False)
    tale.rows[-1].mode = "subscribe"
    for value in range(4):
        tale.send(10 + value, at=value)
    tale.read(*((value, 10 + value) for value in range(4)))
    return tale


def commits(tale, offset, **fields):
    return tale.op("commit", "m", group="g", committed_offset=offset, **fields)


def test_a_record_below_a_commit_that_no_member_was_given_is_lost_to_the_group(group):
    group.read((0, 10), (1, 11), client="m", stream=5)
    group.read((3, 13), client="m", stream=6, start=None)
    commit = commits(group, 4)
    found = group.only("group-lost")

    assert (found.offsets, found.values, found.group) == ((2, 4), (12,), "g")
    assert commit in found.operations


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([(0, 10), (1, 11), (2, 12), (3, 13)], id="all of it was given"),
        pytest.param([(3, 13)], id="the group began later"),
        pytest.param([(0, 10), (1, 11)], id="it has not committed so far"),
    ],
)
def test_what_is_above_the_commit_or_below_the_beginning_is_not_lost(group, given):
    group.read(*given, client="m", stream=5, start=None)
    commits(group, given[-1][0] + 1)

    assert group.anomalies("group-lost") == []


def test_a_commit_that_may_have_failed_proves_nothing(group):
    group.read((0, 10), client="m", stream=5)
    commits(group, 4, outcome="info")

    assert group.anomalies("group-lost") == []


def owns(tale, member, generation, start, end=None, client="m", partition=0):
    tale.rows.append(
        Membership(
            group="g", member=member, client=client, generation=generation, topic="t", partition=partition,
            from_ns=start, until_ns=end,
        )
    )  # fmt: skip


def test_a_partition_with_two_owners_at_one_time(group):
    owns(group, "m1", 4, 10, 50)
    owns(group, "m2", 5, 40)
    found = group.only("two-owners")

    assert "m1" in found.sentence and "m2" in found.sentence and found.partition == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(("m1", 4, 10, 40), ("m2", 5, 40, None), id="one after the other"),
        pytest.param(("m1", 4, 10, 50), ("m1", 5, 40, None), id="the same member"),
        pytest.param(("m1", 5, 10, 50), ("m2", 4, 40, None), id="an answer of an older generation came late"),
        pytest.param(("m1", -1, 10, 50), ("m2", 5, 40, None), id="what a client believes is no evidence"),
    ],
)
def test_one_owner_at_a_time_is_right(group, first, second):
    owns(group, *first)
    owns(group, *second)

    assert group.anomalies("two-owners") == []


def test_members_of_the_new_protocol_may_vanish_unseen(group):
    group.rows[2].protocol = "consumer"
    owns(group, "m1", 4, 10)
    owns(group, "m2", 5, 40)

    assert group.anomalies("two-owners") == []
