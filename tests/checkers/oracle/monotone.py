"""Numbers that brokers report and that may only rise."""

from collections.abc import Iterator
from typing import NamedTuple

from brokertrial.histories.rows import Operation
from tests.checkers.oracle.facts import Facts, OracleRow


class Reported(NamedTuple):
    """One answer about a number that only rises while `scope` stays the same."""

    row: Operation
    scope: int
    level: int


class Regression(NamedTuple):
    """An answer below an earlier one, with the first that had told the most."""

    topic: str | None
    partition: int | None
    op: int
    level: int
    before: int
    before_level: int


def _told(facts: Facts, quantity: str) -> Iterator[Reported]:
    for row in facts.operations:
        if row.outcome != "ok" or row.return_ns is None or row.topic is None or row.topic in facts.recreated:
            continue
        scope, level = _reading(facts, row, quantity)
        if scope is not None and level is not None and level >= 0:
            yield Reported(row, scope, level)


def _reading(facts: Facts, row: Operation, quantity: str) -> tuple[int | None, int | None]:
    asked = row.kind in ("fetch", "list_offsets")
    epoch = row.leader_epoch
    if quantity == "leader-epoch":
        ended = row.high_watermark is not None and row.high_watermark >= 0
        current = row.kind == "fetch" or (row.kind == "list_offsets" and ended)
        return (row.node, epoch) if current else (None, None)
    if quantity == "log-start":
        crash = crashed(facts)
        answered = asked or row.kind == "delete_records"
        alive = crash is None or (row.return_ns or 0) < crash
        return (-1 if answered and alive else None), row.log_start
    quiet = facts.header.nodes == 1 and not any(event.kind == "window-begin" for event in facts.events)
    scope = -1 if epoch is None else epoch
    scope_counts = asked and (scope >= 0 or quiet)
    return (scope if scope_counts else None), row.high_watermark if quantity == "high-watermark" else row.last_stable


def crashed(facts: Facts) -> int | None:
    """When a node was first killed, or its power cut."""
    kinds, words = ("window-begin", "hit", "node"), ("kill", "power", "crash")
    times = [
        event.at_ns
        for event in facts.events
        if event.kind in kinds and any(word in (event.fields or "") for word in words)
    ]
    return min(times, default=None)


def regressions(facts: Facts, quantity: str) -> Iterator[Regression]:
    """Every answer that told less than one before its call."""
    told = list(_told(facts, quantity))
    for one in told:
        key = (one.row.topic, one.row.partition, one.scope)
        earlier = [
            each
            for each in told
            if (each.row.topic, each.row.partition, each.scope) == key and (each.row.return_ns or 0) < one.row.call_ns
        ]
        reached = max((each.level for each in earlier), default=-1)
        if reached > one.level:
            first = min(each.row.op for each in earlier if each.level == reached)
            yield Regression(one.row.topic, one.row.partition, one.row.op, one.level, first, reached)


def rows(facts: Facts, quantity: str) -> Iterator[OracleRow]:
    for fall in regressions(facts, quantity):
        yield {
            "topic": fall.topic,
            "partition": fall.partition,
            "op_a": fall.before,
            "op_b": fall.op,
            "offset_a": fall.before_level,
            "offset_b": fall.level,
        }
