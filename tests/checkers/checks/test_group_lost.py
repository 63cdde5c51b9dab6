"""group-lost: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from brokertrial.histories.rows import Record
from tests.checkers.oracle.commits import FOREVER, committed, writes
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Acknowledged, seen where it was sent, above the group's first record, below a commit of it, given to none."""
    groups = {row.group for row in facts.clients.values() if row.mode == "subscribe" and row.group is not None}
    for group in groups:
        members = {row.client for row in facts.clients.values() if row.mode == "subscribe" and row.group == group}
        given = [row for row in facts.seen if row.client in members]
        for topic, partition in {(row.topic, row.partition) for row in given}:
            first = min(row.offset or 0 for row in given if (row.topic, row.partition) == (topic, partition))
            sure = [
                commit.row
                for commit in writes(facts)
                if (commit.row.group, commit.row.topic, commit.row.partition) == (group, topic, partition)
                and commit.done < FOREVER
            ]
            if not sure:
                continue
            reach = max(committed(commit) for commit in sure)
            for row in facts.sent:
                if (row.topic, row.partition) != (topic, partition) or row.value in {other.value for other in given}:
                    continue
                if _owed_to_group(facts, row, first, reach):
                    yield {
                        "topic": topic,
                        "partition": partition,
                        "group_id": group,
                        "offset_a": row.offset,
                        "value_a": row.value,
                        "op_a": row.op,
                        "offset_b": reach,
                        "op_b": min(commit.op for commit in sure if committed(commit) == reach),
                    }


def _owed_to_group(facts: Facts, row: Record, first: int, reach: int) -> bool:
    return (
        row.outcome == "ok"
        and row.offset is not None
        and first < row.offset < reach
        and (row.txn is None or facts.transaction(row.txn) == "committed")
        and any(
            (seen.value, seen.topic, seen.partition, seen.offset) == (row.value, row.topic, row.partition, row.offset)
            for seen in facts.seen
        )
    )


def inject_group_lost(w: Wound) -> Expected:
    rows = sorted(w.all(Record, client="m1", side="seen", partition=0), key=lambda row: row.position)
    gone = w.rng.choice(rows[2:-6])
    w.drop(gone)
    return w.told("group-lost", gone, offset_a=gone.offset)
