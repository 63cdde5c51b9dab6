"""group-repeated: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from tests.checkers.oracle.commits import FOREVER
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.members import commits, offset, resumptions
from tests.checkers.picks import taken_over
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Given an offset below a commit that was in force when the member was told of its partition."""
    for one in resumptions(facts):
        first, returned = one.row.offset or 0, one.call.return_ns or 0
        here = commits(facts, one)
        lower = [write for write in here if offset(write) <= first and write.call <= returned]
        sure = [
            write
            for write in here
            if one.since is not None
            and write.done < one.since
            and offset(write) > first
            and not any(other.done == FOREVER or other.done >= write.call for other in lower)
        ]
        if sure:
            yield {
                "topic": one.row.topic,
                "partition": one.row.partition,
                "group_id": one.group,
                "offset_a": first,
                "offset_b": max(offset(write) for write in sure),
                "value_a": one.row.value,
                "op_a": min(write.row.op for write in sure),
                "op_b": one.row.op,
            }


def inject_group_repeated(w: Wound) -> Expected:
    first = taken_over(w)[0]
    back = w.rng.randrange(1, 4)
    w.change(first, offset=first.offset - back, value=w.legal.logs["g", first.partition][first.offset - back][0])
    return w.told("group-repeated", first, offset_a=first.offset - back, offset_b=first.offset)
