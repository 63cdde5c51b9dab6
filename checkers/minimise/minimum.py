"""Minimises: the anomaly stays the same in name, place, offsets, values and operations; all else goes that can go.

    minimum = minimise(history, anomaly, go_on=lambda: now() < deadline)
    minimum.part.operations        # 3, of 20,481
    minimum.part.write(folder)     # a history of its own: every check says the same of it

What is left out could only have explained the anomaly away, and it did not: it was there when the anomaly was found.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.check import Check, all_checks
from brokertrial.checkers.engines.base import topics
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.judge import rows_of
from brokertrial.checkers.linearizability.precedence import Int64Array
from brokertrial.checkers.minimise.part import CONTEXT, SHARED, Atoms, HistorySlice, relations
from brokertrial.checkers.minimise.search import OutOfTime, smallest
from brokertrial.checkers.minimise.slices import slices
from brokertrial.histories.reader import History

ROWS = 400_000
"""Rows of one question: more parts than this holds are asked about in several."""

NARROW = 2
"""Slices that are always looked at: they are small however large the history is."""
SINGULAR = {"operations": "operation", "batches": "batch", "memberships": "membership", "events": "event"}

ShouldContinue = Callable[[], bool]


@dataclass(frozen=True)
class Minimum:
    """The part, out of how many operations it was made, and whether the search came to its end."""

    anomaly: Anomaly
    part: HistorySlice
    before: int
    complete: bool

    @property
    def sentence(self) -> str:
        """How small it is, and what that is worth."""
        counts = {name: self.part.count(name) for name in ("batches", "memberships")}
        counts["events"] = sum(kind != CONTEXT for kind in self.part.tables["events"]["kind"].to_pylist())
        sizes = [(self.part.operations, "operations"), *((count, name) for name, count in counts.items())]
        parts = [f"{count:,} {name if count > 1 else SINGULAR[name]}" for count, name in sizes if count]
        what = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)
        size = f"Minimised from {self.before:,} operations to {what}"
        if self.complete:
            return f"{size}; removing any one hides the anomaly."
        return f"{size}; the search was stopped early, so fewer may suffice."


class NotMinimised(Exception):
    """No check says this of the history by itself; the message is one sentence."""


def minimise(
    history: History,
    anomaly: Anomaly,
    go_on: ShouldContinue = lambda: True,
    *,
    judged: bool = True,
    checks: Mapping[str, Check] | None = None,
) -> Minimum:
    """The smallest part of a history that still shows the anomaly; raises NotMinimised. The same every time.

    `go_on` is asked before each question to the judge: false ends the search with what there is. `judged` false: an
    anomaly that is permitted, and must stay so.
    """
    oracle = _Oracle(history, anomaly, judged, all_checks() if checks is None else checks, go_on)
    part = oracle.first_slice()
    before = _operations(history)
    try:
        while True:
            part = _shrunk(part, Atoms.calls(part), oracle)
            size = _size(part)
            part = _shrunk(part, Atoms.lines(part), oracle)
            if _size(part) == size:
                return Minimum(anomaly, part, before, complete=True)
    except _Stopped as stopped:
        return Minimum(anomaly, stopped.part, before, complete=False)


class _Stopped(Exception):
    def __init__(self, part: HistorySlice) -> None:
        super().__init__("stopped")
        self.part = part


def _shrunk(part: HistorySlice, atoms: Atoms, oracle: "_Oracle") -> HistorySlice:
    def shows(choices: Sequence[Int64Array]) -> list[bool]:
        return oracle.shown([part.kept(atoms.choice(choice)) for choice in choices])

    try:
        return part.kept(atoms.choice(smallest(atoms.count, shows)))
    except OutOfTime as stopped:
        raise _Stopped(part if stopped.best is None else part.kept(atoms.choice(stopped.best))) from None


class _Oracle:
    """Whether parts of a history still show one anomaly, as the judge would say it."""

    def __init__(
        self, history: History, anomaly: Anomaly, judged: bool, checks: Mapping[str, Check], go_on: ShouldContinue
    ) -> None:
        self._history, self._judged, self._go_on = history, judged, go_on
        self._wanted = replace(anomaly, sentence="")
        self._topics = topics([history])
        self._checks = _likely(checks, anomaly)

    def first_slice(self) -> HistorySlice:
        """The narrowest part in which a check finds it; from then on, this check is the one that is asked."""
        for number, read in enumerate(slices(self._history, self._wanted)):
            if number >= NARROW and not self._go_on():
                raise NotMinimised(
                    "Not minimised: the time was up before the anomaly was found in a part of the history."
                )
            part = read()
            for check in self._checks:
                if self._found(check, [part]) == [True]:
                    self._checks = [check]
                    return part
        raise NotMinimised(
            f"Not minimised: {self._wanted.name} does not follow from the operations alone; "
            "it rests on facts of the trial."
        )

    def shown(self, parts: Sequence[HistorySlice]) -> list[bool]:
        """The answers, in the order of the parts; raises OutOfTime."""
        answers: list[bool] = []
        while len(answers) < len(parts):
            if not self._go_on():
                raise OutOfTime
            some = _fitting(parts[len(answers) :])
            answers += self._found(self._checks[0], some)
        return answers

    def _found(self, check: Check, parts: Sequence[HistorySlice]) -> list[bool]:
        with DuckDBEngine.over_tables(relations(parts, self._topics)) as duck:
            subjects = {row["history"] for row in duck.ask(check.subject)}
            rows = {number: rows for number, rows in rows_of(check, duck).items() if number in subjects}
            asked_for = duck.mistaken if rows else frozenset()
        found = []
        for number in range(len(parts)):
            anomalies = [
                check.anomaly(row) for row in rows.get(number, []) if bool(row.get("judged", 1)) is self._judged
            ]
            found.append(any(self._is_it(each, number, asked_for) for each in anomalies))
        return found

    def _is_it(self, found: Anomaly, number: int, asked_for: Collection[tuple[int, int]]) -> bool:
        if any((number, operation) in asked_for for operation in found.operations):
            found = replace(found, attribution="client")
        return replace(found, sentence="") == self._wanted


def _likely(checks: Mapping[str, Check], anomaly: Anomaly) -> list[Check]:
    """The checks that may have found it: of its own name, then of its guarantee (two checks say stale-read)."""
    own = [check for check in checks.values() if check.name.rpartition("/")[2] == anomaly.name]
    return own + [check for check in checks.values() if check.guarantee == anomaly.guarantee and check not in own]


def _fitting(parts: Sequence[HistorySlice]) -> Sequence[HistorySlice]:
    number, rows = 0, 0
    while number < len(parts) and (number == 0 or rows + _size(parts[number]) <= ROWS):
        rows += _size(parts[number])
        number += 1
    return parts[:number]


def _size(part: HistorySlice) -> int:
    return sum(part.count(table) for table in SHARED)


def _operations(history: History) -> int:
    """How many calls a history has."""
    tables = [pq.read_table(file, columns=["op"]) for file in history.parts("operations")]
    return len(pa.concat_tables(tables)["op"].unique()) if tables else 0
