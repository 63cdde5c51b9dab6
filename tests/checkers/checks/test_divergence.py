"""divergence: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterable, Iterator

from msgspec import structs

from brokertrial.histories.rows import Batch
from tests.checkers.oracle.batches import logs, pair, sender_at, views
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Two views of one place differ, or a batch begins inside another."""
    unclean = facts.header.unclean_election
    groups: dict[tuple[str, int, int, int], list[Batch]] = {}
    for row in views(facts):
        epoch = -1 if not unclean or row.leader_epoch is None else row.leader_epoch
        groups.setdefault((row.topic, row.partition, row.base_offset, epoch), []).append(row)
    wrong = {(topic, part, base, base) for (topic, part, base, _), rows in groups.items() if _differ(rows)}
    for place, laid in logs(facts).items():
        for each in laid:
            if not unclean and each.covered is not None and each.batch.base_offset <= each.covered:
                wrong.add((*place, each.covered, each.batch.base_offset))
    for topic, partition, one, other in wrong:
        place = (topic, partition)
        yield pair(facts, place, one, other) | {"value_a": sender_at(facts, place, one)[1]}


def _differ(rows: list[Batch]) -> bool:
    columns: list[Iterable[int | str | None]] = [
        [row.last_offset for row in rows],
        [row.producer_id for row in rows],
        [row.producer_epoch for row in rows],
        [row.base_sequence for row in rows],
        [row.leader_epoch for row in rows],
        [row.transactional for row in rows],
        [row.control or "" for row in rows],
    ]
    return any(len({each for each in column if each is not None}) > 1 for column in columns)


def inject_divergence(w: Wound) -> Expected:
    one = w.sent()
    w.add(structs.replace(w.batch(one), producer_id=99, node=2))
    return w.told("divergence", one, offset_a=one.offset, offset_b=one.offset)
