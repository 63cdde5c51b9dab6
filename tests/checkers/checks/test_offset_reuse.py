"""offset-reuse: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.offsets import by_offset, pair, values
from tests.checkers.picks import plain
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Two acknowledgements name one offset for two values."""
    for place, rows in by_offset(facts).items():
        if len(values(rows, "sent")) > 1:
            yield pair(place, [row for row in rows if row.side == "sent"])


def inject_offset_reuse(w: Wound) -> Expected:
    one = w.sent(where=plain)
    other = w.sent(where=lambda row: row.partition == one.partition and row.offset != one.offset and plain(row))
    w.change(other, offset=one.offset)
    return w.told("offset-reuse", one, offset_a=one.offset)


def test_an_offset_acknowledged_twice_is_reused(told):
    tale = told()
    first, second = tale.send(10, at=7), tale.send(11, at=7)
    found = tale.only("offset-reuse")

    assert (found.offsets, found.values, found.operations) == ((7,), (10, 11), (first, second))


def test_neighbours_are_no_reuse(told):
    tale = told()
    tale.send(10, at=7)
    tale.send(11, at=8)

    assert tale.anomalies("offset-reuse") == []
