"""coordinator-epoch-regression: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator
from itertools import pairwise

from brokertrial.histories.rows import Batch
from tests.checkers.oracle.batches import logs
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Markers of one producer in one partition whose coordinator's epoch falls."""
    for place, laid in logs(facts).items():
        producers: dict[int, list[Batch]] = {}
        for batch in (each.batch for each in laid):
            if batch.control is not None and batch.coordinator_epoch is not None and batch.coordinator_epoch >= 0:
                producers.setdefault(batch.producer_id, []).append(batch)
        for chain in producers.values():
            highest = -1
            for before, after in pairwise(chain):
                highest = max(highest, before.coordinator_epoch or 0)
                if (after.coordinator_epoch or 0) < highest:
                    yield {
                        "topic": place[0],
                        "partition": place[1],
                        "offset_a": before.base_offset,
                        "offset_b": after.base_offset,
                    }


def inject_coordinator_epoch_regression(w: Wound) -> Expected:
    marks = [row for row in w.all(Batch, topic="t", seen_at="final") if row.control is not None]
    first = {row.partition: row.base_offset for row in reversed(marks)}
    one = w.rng.choice([row for row in marks if row.base_offset > first[row.partition]])
    w.change(one, coordinator_epoch=1)
    return w.told("coordinator-epoch-regression", one, offset_b=one.base_offset)
