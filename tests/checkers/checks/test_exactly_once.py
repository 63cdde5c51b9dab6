"""exactly-once: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

import pytest

from brokertrial.histories.rows import Record
from tests.checkers.oracle.commits import FOREVER, committed, writes
from tests.checkers.oracle.delivery import committed_reads, final_reads
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """An input of which read_committed readers were shown two copies; or none, though a transaction is past it. A copy
    whose abort was acknowledged does not count."""
    inputs = [row for row in facts.sent if row.outcome == "ok" and row.offset is not None and row.derived_from is None]
    copies = [row for row in facts.sent if row.derived_from is not None and row.txn is not None]
    shown = {row.value for row in facts.seen if facts.committed_only(row.client)}
    shown -= {copy.value for copy in copies if copy.txn is not None and facts.transaction(copy.txn) == "aborted"}
    for row in inputs:
        mine = [copy for copy in copies if copy.derived_from == row.value and copy.value in shown]
        values = {copy.value for copy in mine}
        first_ops = [min(copy.op for copy in mine if copy.value == value) for value in values]
        common: OracleRow = {
            "topic": row.topic,
            "partition": row.partition,
            "offset_a": row.offset,
            "value_a": row.value,
        }
        if len(values) > 1:
            yield common | {
                "name": "doubled-copy",
                "value_b": min(value for value in values if value is not None),
                "op_a": min(first_ops),
                "op_b": max(first_ops),
            }
        elif not values and _all_read(facts, copies) and _is_copied_from(row, inputs, copies):
            passed = [
                commit.row
                for commit in writes(facts)
                if (commit.row.topic, commit.row.partition) == (row.topic, row.partition)
                and commit.done < FOREVER
                and commit.row.txn is not None
                and committed(commit.row) > (row.offset or 0)
            ]
            if passed:
                yield common | {
                    "name": "lost-copy",
                    "offset_b": max(committed(commit) for commit in passed),
                    "op_a": row.op,
                    "op_b": min(commit.op for commit in passed),
                }


def _all_read(facts: Facts, copies: list[Record]) -> bool:
    """No copy may be hidden: not by a read that is missing, and not by a transaction that is open still."""
    ends, stable = final_reads(facts), committed_reads(facts)
    places = {(row.topic, row.partition) for row in copies}
    return all(place in stable and stable[place] >= ends.get(place, 0) for place in places)


def _is_copied_from(row: Record, inputs: list[Record], copies: list[Record]) -> bool:
    sources = {copy.derived_from for copy in copies}
    here = [
        other.offset or 0
        for other in inputs
        if (other.topic, other.partition) == (row.topic, row.partition) and other.value in sources
    ]
    return bool(here) and (row.offset or 0) >= min(here)


def inject_lost_copy(w: Wound) -> Expected:
    copy = w.sent("out")
    w.hide(copy, "rc")
    source = w.all(Record, side="sent", value=copy.derived_from)[0]
    return w.told("exactly-once", source, "lost-copy", offset_a=source.offset)


def inject_doubled_copy(w: Wound) -> Expected:
    copy = w.sent("out")
    other = w.sent("out", where=lambda row: row.value != copy.value)
    w.change(other, derived_from=copy.derived_from)
    source = w.all(Record, side="sent", value=copy.derived_from)[0]
    return w.told("exactly-once", source, "doubled-copy", offset_a=source.offset)


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


@pytest.mark.parametrize(("outcome", "found"), [("ok", []), ("info", ["doubled-copy"])])
def test_a_copy_that_was_aborted_and_is_shown_all_the_same_is_no_second_one(copying, outcome, found):
    """It is an aborted read, which has a check of its own; where nobody knows that it was aborted, it counts."""
    copies(copying, 10, 110, 0, 1)
    ended(copying, 1, 1, kind="abort_txn", outcome=outcome)
    copies(copying, 10, 112, 2, 2)
    ended(copying, 2, 1)
    finally_read(copying, (0, 110), (2, 112), end=4)

    assert [each.name for each in copying.anomalies("exactly-once")] == found


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


@pytest.mark.parametrize(("stable", "decided"), [(4, True), (2, False)])
def test_what_an_open_transaction_hides_is_not_lost(copying, stable, decided):
    copies(copying, 10, 110, 0, 1)
    ended(copying, 1, 1)
    copies(copying, 11, 111, 3, 2)
    ended(copying, 2, 2)
    copying.event("final-read", topic="t", partition=1, offset=4)
    finally_read(copying, (0, 110), end=stable)
    judged = copying.judge("exactly-once")

    assert ("exactly-once" in judged.inconclusive) is not decided
    assert [each.name for each in copying.anomalies("exactly-once")] == (["lost-copy"] if decided else [])
