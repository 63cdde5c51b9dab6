"""generation-regression: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from msgspec import structs

from brokertrial.histories.rows import Membership
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.members import memberships, reset_groups
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """A member was given a partition in a generation below one that it had been told of."""
    found = set()
    told: dict[tuple[str, str], list[Membership]] = {}
    for own in memberships(facts):
        if own.generation >= 0 and own.group not in reset_groups(facts):
            told.setdefault((own.group, own.member), []).append(own)
    for (group, _), rows in told.items():
        for own in rows:
            if any(before.generation > own.generation for before in rows if before.from_ns < own.from_ns):
                found.add((own.topic, own.partition, group))
    for topic, partition, group in found:
        yield {"topic": topic, "partition": partition, "group_id": group}


def inject_generation_regression(w: Wound) -> Expected:
    one = w.one(Membership, member="m2")
    w.add(structs.replace(one, generation=1, from_ns=one.from_ns + 1))
    return w.told("generation-regression", one)
