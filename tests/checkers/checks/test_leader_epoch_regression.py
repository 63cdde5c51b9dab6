"""leader-epoch-regression: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator
from itertools import pairwise

from tests.checkers.oracle.batches import logs, pair
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.monotone import regressions
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Epochs that fall along the log, or in the answers of one node."""
    for place, laid in logs(facts).items():
        known = [each.batch for each in laid if each.batch.leader_epoch is not None and each.batch.leader_epoch >= 0]
        highest = -1
        for before, after in pairwise(known):
            highest = max(highest, before.leader_epoch or 0)
            if (after.leader_epoch or 0) < highest:
                yield pair(facts, place, before.base_offset, after.base_offset)
    for each in regressions(facts, "leader-epoch"):
        yield {"topic": each.topic, "partition": each.partition, "op_a": each.before, "op_b": each.op}


def inject_leader_epoch_regression(w: Wound) -> Expected:
    one = w.sent()
    w.change(w.batch(one), leader_epoch=0)
    return w.told("leader-epoch-regression", one, offset_b=one.offset)
