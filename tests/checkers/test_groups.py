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


@pytest.fixture
def copying(story):
    """Two inputs in t-0, copied by transactions to t-1; both ends known."""
    tale = story()
    tale.producer("p")
    tale.producer("x", transactional_id="tx")
    tale.reader("c", isolation="read_committed")
    tale.send(10, at=0)
    tale.send(11, at=1)
    return tale


def copies(tale, source, value, at, txn):
    tale.send(value, at=at, client="x", txn=txn, partition=1)
    tale.rows[-1].derived_from = source


def ended(tale, txn, offset, kind="commit_txn", outcome="ok"):
    tale.op("commit", "x", group="g", committed_offset=offset, txn=txn)
    tale.op(kind, "x", txn=txn, topic=None, partition=None, outcome=outcome)


def finally_read(tale, *pairs, end):
    tale.read(*pairs, client="c", partition=1, stream=9)
    tale.event("final-read-committed", topic="t", partition=1, offset=end)
    tale.event("final-read-committed", topic="t", partition=0, offset=2)


def test_each_input_copied_once_is_right(copying):
    copies(copying, 10, 110, 0, 1)
    ended(copying, 1, 1)
    copies(copying, 11, 111, 2, 2)
    ended(copying, 2, 1, kind="abort_txn")
    copies(copying, 11, 112, 4, 3)
    ended(copying, 3, 2)
    finally_read(copying, (0, 110), (4, 112), end=6)

    assert copying.anomalies("exactly-once") == []


def test_an_input_copied_by_two_transactions_is_doubled(copying):
    copies(copying, 10, 110, 0, 1)
    ended(copying, 1, 1)
    copies(copying, 10, 112, 2, 2)
    ended(copying, 2, 1)
    finally_read(copying, (0, 110), (2, 112), end=4)
    found = copying.only("exactly-once")

    assert (found.name, found.values) == ("doubled-copy", (10, 110))


@pytest.mark.parametrize(("outcome", "found"), [("ok", ["lost-copy"]), ("info", [])])
def test_an_input_that_a_transaction_has_passed_without_a_copy_is_lost(copying, outcome, found):
    copies(copying, 10, 110, 0, 1)
    ended(copying, 1, 1)
    copies(copying, 11, 111, 2, 2)
    ended(copying, 2, 2, outcome=outcome)
    finally_read(copying, (0, 110), end=4)

    assert [each.name for each in copying.anomalies("exactly-once")] == found


def test_an_output_that_was_not_read_to_its_end_withholds_the_pass(copying):
    copies(copying, 10, 110, 0, 1)
    ended(copying, 1, 1)
    copying.read((0, 110), client="c", partition=1)

    assert "exactly-once" in copying.judge("exactly-once").inconclusive
