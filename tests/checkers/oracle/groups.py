"""group-lost, two-owners, exactly-once: their definitions, word by word."""

from collections.abc import Iterator

from brokertrial.histories.rows import Membership, Operation, Record
from tests.checkers.oracle.commits import FOREVER, writes
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.transactions import committed_reads


def group_lost(facts: Facts) -> Iterator[OracleRow]:
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
            reach = max(_committed(commit) for commit in sure)
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
                        "op_b": min(commit.op for commit in sure if _committed(commit) == reach),
                    }


def _committed(commit: Operation) -> int:
    return -1 if commit.committed_offset is None else commit.committed_offset


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


def two_owners(facts: Facts) -> Iterator[OracleRow]:
    """A member was told that a partition is its own while another, of the same generation or before, owned it."""
    told = [row for row in facts.rows("memberships") if isinstance(row, Membership) and row.generation >= 0]
    found = set()
    for late in told:
        client = facts.clients.get(late.client or "")
        if client is not None and client.protocol == "consumer":
            continue
        for early in told:
            same = (early.group, early.topic, early.partition) == (late.group, late.topic, late.partition)
            before = early.from_ns < late.from_ns and early.generation <= late.generation
            lasts = early.until_ns is None or early.until_ns > late.from_ns
            if same and early.member != late.member and before and lasts:
                found.add((late.topic, late.partition, late.group))
    for topic, partition, group in found:
        yield {"topic": topic, "partition": partition, "group_id": group}


def exactly_once(facts: Facts) -> Iterator[OracleRow]:
    """An input of which read_committed readers were shown two copies; or none, though a transaction is past it."""
    inputs = [row for row in facts.sent if row.outcome == "ok" and row.offset is not None and row.derived_from is None]
    copies = [row for row in facts.sent if row.derived_from is not None and row.txn is not None]
    shown = {row.value for row in facts.seen if facts.committed_only(row.client)}
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
                and _committed(commit.row) > (row.offset or 0)
            ]
            if passed:
                yield common | {
                    "name": "lost-copy",
                    "offset_b": max(_committed(commit) for commit in passed),
                    "op_a": row.op,
                    "op_b": min(commit.op for commit in passed),
                }


def _all_read(facts: Facts, copies: list[Record]) -> bool:
    return {(row.topic, row.partition) for row in copies} <= committed_reads(facts).keys()


def _is_copied_from(row: Record, inputs: list[Record], copies: list[Record]) -> bool:
    sources = {copy.derived_from for copy in copies}
    here = [
        other.offset or 0
        for other in inputs
        if (other.topic, other.partition) == (row.topic, row.partition) and other.value in sources
    ]
    return bool(here) and (row.offset or 0) >= min(here)
