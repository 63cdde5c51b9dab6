"""two-owners: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from msgspec import structs

from brokertrial.histories.rows import Membership
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
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


def inject_two_owners(w: Wound) -> Expected:
    one = w.one(Membership, member="m2")
    w.add(structs.replace(one, member="m3", from_ns=one.from_ns + 1))
    return w.told("two-owners", one)
