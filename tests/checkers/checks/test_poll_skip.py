"""poll-skip: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

import pytest

from brokertrial.histories.rows import Record
from tests.checkers.oracle.facts import Facts, OracleRow, same_place
from tests.checkers.oracle.order import op_before
from tests.checkers.picks import plain
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """A stream went from prev_offset to offset although somebody saw a record between that it should have shown."""
    for row in [] if facts.may_lose else facts.seen:
        if row.prev_offset is None or row.offset is None:
            continue
        between = [
            each
            for each in facts.seen
            if same_place(each, row)
            and each.offset is not None
            and row.prev_offset < each.offset < row.offset
            and each.offset >= facts.low(each.topic, each.partition)
            and not facts.compacted(each.topic)
            and (not facts.committed_only(row.client) or _committed(facts, each))
        ]
        if between:
            first = min(each.offset or 0 for each in between)
            before = op_before(facts, row)
            yield {
                "name": "int-poll-skip" if before == row.op else "poll-skip",
                "topic": row.topic,
                "partition": row.partition,
                "offset_a": first,
                "offset_b": row.offset,
                "value_a": min(each.value or 0 for each in between if each.offset == first),
                "value_b": row.value,
                "op_a": row.op,
                "op_b": min(each.op for each in between if each.offset == first),
                "op_c": before,
            }


def _committed(facts: Facts, row: Record) -> bool:
    """Whether every sender of the value committed it, so that every reader must be shown it; nobody knows what became
    of a record whose sending the history does not have.
    """
    known = row.intact and any(same_place(each, row) and each.value == row.value for each in facts.sent)
    txns = [each.txn for each in facts.sent if each.value == row.value and each.txn is not None]
    return known and all(facts.transaction(txn) == "committed" for txn in txns)


def inject_poll_skip(w: Wound) -> Expected:
    one = w.sent(where=plain)
    reach = w.hide(one, w.rng.choice("rc"))
    after = next(row for row in w.added if isinstance(row, Record))
    before = w.legal.at(after.stream, (after.position or 0) - 1)
    name = "int-poll-skip" if before.op == after.op else "poll-skip"
    return w.told("poll-skip", one, name, offset_a=one.offset, offset_b=reach)


def test_a_skip_across_polls(four_sent):
    tale = four_sent()
    witness = tale.read((0, 10), (1, 11), (2, 12))
    before = tale.read((0, 10), stream=2)
    skip = tale.read((2, 12), stream=2)
    found = tale.only("poll-skip")

    assert (found.name, found.offsets, found.values) == ("poll-skip", (1, 2), (11, 12))
    assert found.operations == (skip, witness, before)


def test_a_skip_within_a_poll(four_sent):
    tale = four_sent()
    tale.read((0, 10), (1, 11), (2, 12))
    tale.read((0, 10), (2, 12), stream=2)

    assert tale.only("poll-skip").name == "int-poll-skip"


def test_a_stream_that_begins_after_its_start_skips(four_sent):
    tale = four_sent()
    tale.read((0, 10), (1, 11))
    tale.read((1, 11), stream=2, start=0)

    assert tale.only("poll-skip").offsets == (0, 1)


def test_an_offset_that_nobody_ever_saw_is_no_record(four_sent):
    tale = four_sent()
    tale.read((0, 10), (2, 12))

    assert tale.anomalies("poll-skip") == []


@pytest.mark.parametrize(
    ("client", "ending", "found"), [("r", "abort_txn", 1), ("c", "abort_txn", 0), ("c", "commit_txn", 1)]
)
def test_a_committed_stream_may_pass_what_was_not_committed(four_sent, client, ending, found):
    tale = four_sent()
    tale.producer("q", transactional_id="tx")
    tale.send(20, at=4, client="q", txn=1)
    tale.op(ending, txn=1)
    tale.read((4, 20), client="r", stream=9, start=4)
    tale.read((3, 13), (6, 14), client=client, stream=2, start=3)

    assert len(tale.anomalies("poll-skip")) == found


@pytest.mark.parametrize(("client", "found"), [("r", 1), ("c", 0)])
def test_a_committed_stream_may_pass_what_the_history_has_no_sending_of(four_sent, client, found):
    """Its client ended without a word: whether its transaction was committed is not known."""
    tale = four_sent()
    tale.read((4, 20), client="r", stream=9, start=4)
    tale.read((3, 13), (6, 14), client=client, stream=2, start=3)

    assert len(tale.anomalies("poll-skip")) == found


def test_what_was_cut_off_may_be_passed(four_sent):
    tale = four_sent()
    tale.read((0, 10), (1, 11), (2, 12))
    tale.op("delete_records", base_offset=2, log_start=2)
    tale.read((2, 12), stream=2, start=0)

    assert tale.anomalies("poll-skip") == []


def test_a_compacted_topic_may_be_passed(four_sent):
    tale = four_sent()
    tale.event("topic", topic="t", fields='{"cleanup_policy":"compact,delete"}')
    tale.read((0, 10), (1, 11), (2, 12))
    tale.read((2, 12), stream=2)

    assert tale.anomalies("poll-skip") == []
