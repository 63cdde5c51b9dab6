"""Rows of a legal history that several injections begin with (tests/checkers/checks/test_*.py)."""

from typing import Any

from brokertrial.histories.rows import Operation, Record
from tests.checkers.wounds import Wound


def taken_over(w: Wound) -> list[Any]:
    """What the second member was given of a partition, in order."""
    partition = w.rng.randrange(2)
    return sorted(w.all(Record, client="m2", side="seen", partition=partition), key=lambda row: row.position)


def plain(row: Any) -> bool:
    return row.txn is None and row.derived_from is None


def older_answer(w: Wound, *, higher: bool) -> tuple[Any, Any]:
    """An answer that names a commit which others had replaced: of a higher offset than theirs, or of a lower."""
    answers = w.all(Operation, kind="committed")
    pairs = []
    for number, late in enumerate(answers[1:], start=1):
        before = 0 if number == 1 else w.rng.randrange(max(0, number - 4), number)
        old, since = answers[before], [row.committed_offset for row in answers[before + 1 : number + 1]]
        if (higher and old.committed_offset > max(since)) or (not higher and old.committed_offset < min(since)):
            pairs.append((late, old))
    late, old = w.rng.choice(pairs)
    return w.change(late, committed_offset=old.committed_offset, commit_id=old.commit_id), old


def shortened(w: Wound) -> Any:
    one = w.one(Operation, lambda row: row.high_watermark > 9, kind="list_offsets", topic="t")
    return w.change(one, high_watermark=3)


def asked(w: Wound, **fields: int) -> Any:
    """A late answer about a partition, changed."""
    one = w.one(Operation, lambda row: row.high_watermark > 20, kind="fetch", client="asker", topic="t")
    return w.change(one, **fields)


def committed(w: Wound) -> Any:
    """A record of a transaction that was committed."""
    return w.sent(where=lambda row: row.txn is not None and w.state(row) == "committed")
