"""commit-order: the answers about a committed offset cannot be put in one order with the commits.

    commit #1 (1 to 2)   commit #2 (3 to 4)
    committed? #2 (5 to 6)   committed? #1 (7 to 8)     -> #1 was in force again, though it was not committed again

Every commit carries an id of its own in its metadata, so that each answer names its commit, and zones decide
(checkers/linearizability/registers.py). Judged for commits outside transactions, where every answer names a known
commit.
Source: Gibbons and Korach 1997; catalogue cmt-002, cmt-017.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from brokertrial.checkers.check import AnomalyRow
from brokertrial.checkers.linearizability.registers import EVER, FOREVER, Access, Conflict, conflicts

NAME = "commit-order"
GUARANTEE = "cmt-017"
STRENGTH = "recency"
OBSERVES = ("committed",)
SHOWING = ("commit_id",)
STANDS_ALONE = True
NEEDS = ("operations.commit_id", "operations.committed_offset", "operations.group", "operations.call_ns")
SUBJECT = "SELECT DISTINCT r.history FROM offset_fetches r JOIN named_commits c ON c.history = r.history"
OTHERWISE = "no commit carried an id, or no group asked for its committed offsets"
PROJECTIONS = {
    "commits": """
        SELECT c.history, c.group_id, c.topic, c.partition, c.op, c.commit_id, c.call_ns, c.done_ns, c.committed_offset
        FROM named_commits c
        """,
    "offset_fetches": """
        SELECT r.history, r.group_id, r.topic, r.partition, r.op, r.commit_id, r.call_ns, r.return_ns,
            r.committed_offset
        FROM offset_fetches r
        """,
}
NOTHING = -1

Register = tuple[int, str, str, int]


def find(projections: Mapping[str, pa.Table]) -> Iterator[AnomalyRow]:
    """One row for each commit that cannot be placed."""
    commits = _by_register(projections["commits"])
    recalls = _by_register(projections["offset_fetches"])
    for register in sorted(commits):
        accesses = _accesses(commits[register], recalls.get(register, []))
        offsets = {row["commit_id"]: row["committed_offset"] for row in commits[register]} | {NOTHING: -1}
        for conflict in conflicts(accesses):
            if conflict.outer != conflict.inner:  # a commit told of before it was made: commit-changed says so
                yield _row(register, conflict, offsets)


def accesses_of(projections: Mapping[str, pa.Table], group: str, topic: str, partition: int) -> list[Access]:
    """The accesses of one register of the first history."""
    register = (0, group, topic, partition)
    commits, recalls = (_by_register(projections[name]).get(register, []) for name in ("commits", "offset_fetches"))
    return _accesses(commits, recalls)


def _by_register(table: pa.Table) -> dict[Register, list[AnomalyRow]]:
    rows: dict[Register, list[AnomalyRow]] = {}
    for row in table.to_pylist():
        rows.setdefault((row["history"], row["group_id"], row["topic"], row["partition"]), []).append(row)
    return rows


def _accesses(commits: list[AnomalyRow], recalls: list[AnomalyRow]) -> list[Access]:
    """The accesses of one register. Answers that name no commit of it are the business of commit-changed."""
    known = {row["commit_id"] for row in commits}
    reads = [
        Access(
            row["op"],
            NOTHING if row["committed_offset"] < 0 else row["commit_id"],
            row["call_ns"],
            row["return_ns"],
            False,
        )
        for row in recalls
        if row["committed_offset"] < 0 or row["commit_id"] in known
    ]
    read = {access.value for access in reads}
    writes = [
        Access(row["op"], row["commit_id"], row["call_ns"], FOREVER if row["done_ns"] is None else row["done_ns"], True)
        for row in commits
        if row["done_ns"] is not None or row["commit_id"] in read
    ]
    return [Access(0, NOTHING, EVER, EVER, True), *writes, *reads]


def _row(register: Register, conflict: Conflict, offsets: Mapping[int, int]) -> AnomalyRow:
    history, group, topic, partition = register
    outer, inner = conflict.outer, conflict.inner
    operations = [op for op in (outer.first, inner.first, outer.last, inner.last) if op]
    first, second, third, *_ = [*dict.fromkeys(operations), None, None, None]
    row: AnomalyRow = {"history": history, "group_id": group, "topic": topic, "partition": partition}
    row |= {"offset_a": offsets[outer.value], "offset_b": offsets[inner.value]}
    row |= {"op_a": first, "op_b": second, "op_c": third}
    what = "nothing" if outer.value == NOTHING else f"offset {row['offset_a']} (commit {outer.value})"
    row["sentence"] = (
        f"For group {group}, {topic}-{partition}, {what} was in force before and after offset {row['offset_b']} "
        f"(commit {inner.value}), although it was committed only once."
    )
    return row
