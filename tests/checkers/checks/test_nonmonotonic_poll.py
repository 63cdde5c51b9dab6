"""nonmonotonic-poll: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

from msgspec import structs

from brokertrial.histories.rows import Record
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.order import op_before
from tests.checkers.picks import plain
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """A stream delivered an offset that is not above the one before."""
    for row in [] if facts.may_lose else facts.found:
        if row.prev_offset is not None and row.offset is not None and row.offset <= row.prev_offset:
            before = op_before(facts, row)
            yield {
                "name": "int-nonmonotonic-poll" if before == row.op else "nonmonotonic-poll",
                "topic": row.topic,
                "partition": row.partition,
                "offset_a": row.prev_offset,
                "offset_b": row.offset,
                "value_b": row.value,
                "op_a": before,
                "op_b": row.op,
            }


def inject_nonmonotonic_poll(w: Wound) -> Expected:
    last = w.one(Record, lambda row: row.offset > 9, side="seen", client="r", topic="t")
    w.see(last, offset=last.offset - 3, value=None, prev=last.offset, position=5)
    return w.told("nonmonotonic-poll", last, offset_a=last.offset, offset_b=last.offset - 3)


def inject_int_nonmonotonic_poll(w: Wound) -> Expected:
    one = w.sent(where=plain)
    first, back = w.see(one), one.offset - 3
    w.add(structs.replace(first, offset=back, value=None, prev_offset=one.offset, position=1))
    return w.told("nonmonotonic-poll", one, "int-nonmonotonic-poll", offset_b=back, op_a=first.op, op_b=first.op)


def test_going_back_across_polls(four_sent):
    tale = four_sent()
    first = tale.read((0, 10), (1, 11))
    again = tale.read((1, 11))
    found = tale.only("nonmonotonic-poll")

    assert (found.name, found.offsets, found.operations) == ("nonmonotonic-poll", (1, 1), (first, again))


def test_going_back_within_a_poll(four_sent):
    tale = four_sent()
    tale.read((0, 10), (2, 12), (1, 11))

    assert tale.only("nonmonotonic-poll").name == "int-nonmonotonic-poll"
