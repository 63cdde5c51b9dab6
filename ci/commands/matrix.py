"""`brokertrial cases --matrix`: in which situations each case has passed on Apache Kafka, and where it is out."""

from __future__ import annotations

from collections import Counter

from brokertrial.suites.case import Case, all_cases
from brokertrial.suites.situations import DRAWS, situations
from brokertrial.suites.situations.pair_record import NO_EFFECT, PairProof, record

PROVEN, PARTLY, OUT, WITHOUT_EFFECT, UNKNOWN = "passed", "partly", "out", "no effect", "."
LEGEND = (
    f"{PROVEN}: on Apache Kafka in all {DRAWS} variants (draws) of the situation; {PARTLY}: in some; "
    f"{OUT}: Apache Kafka does not pass it, so that it says nothing; "
    f"{WITHOUT_EFFECT}: the situation changes nothing there; {UNKNOWN}: not tried yet"
)


def matrix_page() -> str:
    """A row a case, a column a situation, and the sums; only cases that can be met in situations."""
    rows = [case for case in all_cases() if case.kind == "wire" and not case.hurts]
    names = list(situations())
    lines = [f"{'':<52}" + "".join(f"{name:<16}" for name in names)]
    sums: dict[str, Counter[str]] = {name: Counter() for name in names}
    for case in rows:
        states = [_state(case, name) for name in names]
        for name, state in zip(names, states, strict=True):
            sums[name][state] += 1
        lines.append(f"{case.id:<52}" + "".join(f"{state:<16}" for state in states))
    lines += [
        f"{state:<52}" + "".join(f"{sums[name][state]:<16}" for name in names)
        for state in (PROVEN, PARTLY, OUT, WITHOUT_EFFECT, UNKNOWN)
    ]
    return "\n".join([*lines, LEGEND])


def _state(case: Case, situation: str) -> str:
    entry = record().entry(case, situation)
    if entry is None:
        return UNKNOWN
    if passed := max(len(entry.one), len(entry.several)):
        return PROVEN if passed + _idle(entry) >= DRAWS else PARTLY
    return OUT if any(came != NO_EFFECT for came in entry.out.values()) else WITHOUT_EFFECT


def _idle(entry: PairProof) -> int:
    """The draws without an effect, in the setting that has most of them."""
    where = Counter(key.rpartition("-")[0] for key, came in entry.out.items() if came == NO_EFFECT)
    return max(where.values(), default=0)
