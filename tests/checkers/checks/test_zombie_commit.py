"""zombie-commit: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from brokertrial.histories.rows import Operation
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.members import memberships, reset_groups
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Accepted, although a newer generation had been told of before it was called."""
    generations = _classic(facts)
    for row in facts.operations:
        if row.kind not in ("commit", "commit-seen") or row.outcome != "ok":
            continue
        if row.generation is None or row.generation < 0:
            continue
        newer = {
            number: at
            for (group, number), at in generations.items()
            if group == row.group and number > row.generation and at < row.call_ns
        }
        if newer:
            witnesses = [
                other.op
                for other in facts.operations
                if other.group == row.group and other.generation in newer and other.return_ns == newer[other.generation]
            ]
            yield {
                "topic": row.topic,
                "partition": row.partition,
                "group_id": row.group,
                "offset_a": row.committed_offset,
                "op_a": row.op,
                "op_b": min(witnesses, default=None),
            }


def _classic(facts: Facts) -> dict[tuple[str | None, int], int]:
    """When each generation of each classic group was first seen."""
    new = {client.group for client in facts.clients.values() if client.protocol == "consumer"}
    out = new | reset_groups(facts)
    told = [(own.group, own.generation, own.from_ns) for own in memberships(facts)]
    for row in facts.operations:
        if row.group is not None and row.generation is not None and row.outcome == "ok" and row.return_ns is not None:
            told.append((row.group, row.generation, row.return_ns))
    first: dict[tuple[str | None, int], int] = {}
    for group, generation, at in told:
        if generation >= 0 and group not in out:
            first[group, generation] = min(at, first.get((group, generation), at))
    return first


def inject_zombie_commit(w: Wound) -> Expected:
    one = w.one(Operation, kind="commit", client="m2")
    w.change(one, generation=1)
    return w.told("zombie-commit", one, op_a=one.op)
