"""lso-regression: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.monotone import rows
from tests.checkers.picks import asked
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Last stable offsets of one leader epoch that fell, and those above the high watermark beside them."""
    for row in rows(facts, "last-stable"):
        yield row | {"name": "lso-regression"}
    for answer in facts.operations:
        stable, high = answer.last_stable, answer.high_watermark
        if answer.kind != "fetch" or answer.outcome != "ok" or answer.topic in facts.recreated:
            continue
        if stable is None or high is None or not 0 <= high < stable or answer.return_ns is None:
            continue
        later = [
            one
            for one in facts.operations
            if (one.kind, one.outcome, one.topic, one.partition) == ("fetch", "ok", answer.topic, answer.partition)
            and one.leader_epoch is not None
            and 0 <= one.leader_epoch == answer.leader_epoch
            and one.call_ns >= answer.return_ns
            and one.high_watermark is not None
            and 0 <= one.high_watermark < stable
        ]
        if later:
            yield {
                "topic": answer.topic,
                "partition": answer.partition,
                "op_a": answer.op,
                "op_b": min(one.op for one in later),
                "offset_a": stable,
                "offset_b": min(one.high_watermark for one in later if one.high_watermark is not None),
                "name": "lso-above-high-watermark",
            }


def inject_lso_regression(w: Wound) -> Expected:
    one = asked(w, last_stable=1)
    return w.told("lso-regression", one, offset_b=1, op_b=one.op)


def inject_lso_above_high_watermark(w: Wound) -> Expected:
    one = asked(w, last_stable=10**6)
    return w.told("lso-regression", one, "lso-above-high-watermark", offset_a=10**6)
