"""How much each check had to judge, and how much of it while what a fault did could be seen.

A check says which rows are its observations (`OBSERVES` of checkers/check.py): calls of some kinds, with an answer that
showed some columns, or ownership that was seen on the wire. Counted from the history alone; each table is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokertrial.checkers.check import Observes, all_checks
from brokertrial.checkers.judge import Judgement
from brokertrial.histories.reader import History
from brokertrial.histories.rows import Event
from brokertrial.histories.windows import FaultWindow

Counts = Mapping[str, tuple[int, int]]
"""Check -> (observations in all, observations during the faults)."""
MEMBERSHIP = "membership"
AFTERWARDS_NS = 5_000_000_000
ENDS_A_PROCESS = ("kill", "terminate", "restart")


def observed(history: History, windows: Iterable[tuple[int, int]], names: Iterable[str]) -> Counts:
    """What the named checks had to judge. `windows`: when each fault began and ended."""
    known, spans, table_of = all_checks(), list(windows), cache(history.arrow)
    counted: dict[Observes, tuple[int, int]] = {}
    found: dict[str, tuple[int, int]] = {}
    for name in names:
        spec = known[name].observes
        if spec is None:
            continue
        if spec not in counted:
            counted[spec] = _count(table_of, spec, spans)
        found[name] = counted[spec]
    return found


def spans(events: Iterable[Event], windows: Iterable[FaultWindow]) -> list[tuple[int, int]]:
    """When what a fault did could be seen: until 5 s after it; where a process ended, all the time until the final
    read, for a node that is dead answers nothing before."""
    reads = [event.at_ns for event in events if event.kind == "phase" and "final read" in (event.fields or "")]
    over = min(reads, default=1 << 62)
    return [
        (window.begin_ns, over if window.kind in ENDS_A_PROCESS else min(window.end_ns + AFTERWARDS_NS, over))
        for window in windows
    ]


def told(counts: Counts) -> str:
    """`lost-write 2000 (340)`: judged in all, and during the faults."""
    return ", ".join(f"{name} {total} ({during})" for name, (total, during) in counts.items())


def undecided(guarantees: Iterable[str], found: Judgement, counts: Counts, needed: int, faulty: bool) -> str | None:
    """Why a guarantee was not decided: none of the checks that decide it had so many observations; None if all were."""
    for guarantee in guarantees:
        tried = [check.name for check in all_checks().values() if guarantee in check.decides]
        had = {name: counts[name][1 if faulty else 0] for name in tried if name in counts}
        if not any(number >= needed for number in had.values()):
            during = " during the faults" if faulty else ""
            said = [f"{name} judged {number} observations{during}" for name, number in had.items()]
            said += [f"{name}: {why}" for name, why in found.not_applicable.items() if name in tried]
            why = "; ".join(said) or "no check decides it"
            return f"{guarantee} was not decided: it needs {needed} observations ({why})"
    return None


def _count(table_of: Callable[[str], pa.Table], spec: Observes, spans: list[tuple[int, int]]) -> tuple[int, int]:
    if spec.kinds == (MEMBERSHIP,):
        begin, end = "from_ns", "from_ns"
        table = table_of("memberships").select(["generation", "from_ns"])
        table = table.filter(pc.greater_equal(table["generation"], 0))
    else:
        begin, end = "call_ns", "return_ns"
        columns = dict.fromkeys(["op", "kind", "outcome", "call_ns", "return_ns", *spec.showing])
        table = table_of("operations").select(list(columns))
        table = table.filter(pc.and_(pc.is_in(table["kind"], pa.array(spec.kinds)), pc.equal(table["outcome"], "ok")))
        for column in (*spec.showing, "return_ns"):
            table = table.filter(pc.is_valid(table[column]))
    if not table.num_rows:
        return 0, 0
    begins, ends = table[begin].to_numpy(), table[end].to_numpy()
    during = np.zeros(len(begins), dtype=bool)
    for window_begin, window_end in spans:
        during |= (begins <= window_end) & (ends >= window_begin)
    return len(begins), int(during.sum())
