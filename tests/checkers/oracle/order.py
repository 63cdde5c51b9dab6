"""The poll before a record."""

from brokertrial.histories.rows import Record
from tests.checkers.oracle.facts import Facts, same_place


def op_before(facts: Facts, row: Record) -> int | None:
    """The poll that delivered the record before this one in its stream."""
    return next(
        (
            each.op
            for each in facts.found
            if same_place(each, row)
            and (each.client, each.stream, each.offset) == (row.client, row.stream, row.prev_offset)
            and each.position is not None
            and row.position is not None
            and each.position == row.position - 1
        ),
        None,
    )
