"""Which pairs of case and situation a run tries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from brokertrial.suites.case import Case
from brokertrial.suites.draw import Draw
from brokertrial.suites.situations import situations
from brokertrial.suites.situations.pair_record import PairRecord
from brokertrial.suites.situations.pairs import pair, pairs_of

SAMPLE, DEEP = "sample", "deep"
WORDS = (SAMPLE, DEEP)
LONG_S = 5.0
"""A case that takes longer is met in situations only where all pairs are tried."""


def chosen_pairs(
    cases: Sequence[Case], wanted: Sequence[str], seed: int, record: PairRecord, healthy_s: Callable[[Case], float]
) -> list[Case]:
    """`sample`: each pair of the record once, in a draw that follows from the seed; `deep`: all that are in the record;
    names of situations: all draws in these, proven or not, but for those that Apache Kafka does not pass."""
    found: list[Case] = []
    for word in dict.fromkeys(wanted):
        for case in cases:
            found += _of(case, word, seed, record, healthy_s(case))
    return list({entry.id: entry for entry in found}.values())


def _of(case: Case, word: str, seed: int, record: PairRecord, healthy_s: float) -> Iterator[Case]:
    if case.kind != "wire" or case.hurts:
        return
    if word in WORDS:
        for name in situations():
            draws = record.draws(case, name)
            if word == SAMPLE and draws:
                draws = [] if healthy_s > LONG_S else [Random(f"{seed}/{case.id}/{name}").choice(draws)]
            yield from (pair(case, Draw(name, number)) for number in draws)
        return
    for one in pairs_of(case, [word]):
        entry, draw = record.entry(case, word), one.situation
        if draw is not None and not (entry and any(key.endswith(f"-{draw.number}") for key in entry.out)):
            yield one
