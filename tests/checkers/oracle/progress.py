"""Calls that ask for progress."""

from brokertrial.histories.rows import Operation
from tests.checkers.oracle.facts import Facts


def asking(facts: Facts) -> list[Operation]:
    asked = ("commit", "committed")
    return [
        row
        for row in facts.operations
        if (row.kind == "send" and row.topic is not None)
        or (row.kind in asked and row.group is not None and row.txn is None)
    ]
