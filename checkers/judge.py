"""Puts the checks to a history."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.check import ROW, AnomalyRow, Check, all_checks
from brokertrial.checkers.engines.base import Engine
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.histories.reader import History

SHOWN = 100
"""Anomalies of one check that are listed; all of them are counted."""


class Judgement(msgspec.Struct, kw_only=True):
    """What the checks found, in an order that does not depend on how they ran.

    `totals` counts the anomalies of each check, also those beyond the listed ones. A check under `not_applicable` had
    nothing to judge; one under `inconclusive` found nothing but may not be read as a pass; the reasons are sentences.
    `permitted` is what was found where Kafka promises nothing better: reported with its size, never held against it.
    """

    anomalies: list[Anomaly] = []
    permitted: list[Anomaly] = []
    totals: dict[str, int] = {}
    not_applicable: dict[str, str] = {}
    inconclusive: dict[str, str] = {}
    judged: list[str] = []

    @property
    def listed(self) -> list[Anomaly]:
        """What is permitted, without the figures that every history has."""
        figures = {check.name for check in all_checks().values() if check.measured}
        return [anomaly for anomaly in self.permitted if anomaly.name not in figures]


class UnknownCheck(ValueError):
    """A check was named that does not exist."""


def judge(history: History, checks: Collection[str] | None = None) -> Judgement:
    """Judges one history by the named checks, or by all that are not for the asking only."""
    return judge_all([history], checks)[0]


def judge_all(histories: Sequence[History], checks: Collection[str] | None = None) -> list[Judgement]:
    """Judges many histories, each check as one query over all of them."""
    with DuckDBEngine.over(histories) as duck:
        return judge_on(duck, histories, checks)


def judge_on(engine: Engine, histories: Sequence[History], checks: Collection[str] | None = None) -> list[Judgement]:
    """Judges histories that an engine has opened, in the same order."""
    return judge_by(_chosen(checks), engine, histories)


def judge_by(checks: Iterable[Check], engine: Engine, histories: Sequence[History]) -> list[Judgement]:
    """Judges histories that an engine has opened by these very checks."""
    judgements = [Judgement() for _ in histories]
    for check in checks:
        _put(engine.prepared(check), engine, histories, judgements)
    for number, reason in engine.unsound.items():
        judgements[number] = Judgement(inconclusive={"history": reason})
    if any(judgement.anomalies for judgement in judgements):
        _lift(engine, judgements)
    return judgements


def _lift(engine: Engine, judgements: Sequence[Judgement]) -> None:
    """Takes the blame off the broker where a client asked for what happened: see `taken_for_another`."""
    for number, judgement in enumerate(judgements):
        judgement.anomalies = [
            replace(anomaly, attribution="client")
            if any((number, operation) in engine.mistaken for operation in anomaly.operations)
            else anomaly
            for anomaly in judgement.anomalies
        ]


def _chosen(names: Collection[str] | None) -> list[Check]:
    known = all_checks()
    if names is None:
        return [check for check in known.values() if check.default]
    if unknown := sorted(set(names) - known.keys()):
        raise UnknownCheck(f"there is no check {unknown[0]!r}; there are {', '.join(known)}.")
    return [check for name, check in known.items() if name in names]


def _put(check: Check, engine: Engine, histories: Sequence[History], judgements: Sequence[Judgement]) -> None:
    able = []
    for number, history in enumerate(histories):
        if missing := _missing(check, history):
            judgements[number].not_applicable[check.name] = f"the history has no {missing}"
        else:
            able.append(number)
    if not able:
        return
    subjects = {row["history"] for row in engine.ask(check.subject)}
    rows = rows_of(check, engine) if subjects & set(able) - engine.settled(check.name) else {}
    gaps = _first_by_history(engine.ask(check.gaps)) if check.gaps and subjects else {}
    for number in able:
        judgement = judgements[number]
        if number not in subjects:
            judgement.not_applicable[check.name] = check.otherwise
            continue
        judgement.judged.append(check.name)
        found = rows.get(number, [])
        if guilty := [row for row in found if row.get("judged", 1)]:
            judgement.totals[check.name] = len(guilty)
            judgement.anomalies += [check.anomaly(row) for row in guilty[:SHOWN]]
        judgement.permitted += [check.anomaly(row) for row in found if not row.get("judged", 1)][:SHOWN]
        if number in gaps:
            judgement.inconclusive[check.name] = check.withheld.format(**gaps[number])


def _missing(check: Check, history: History) -> str | None:
    for need in check.needs:
        table, column = need.split(".")
        if column not in history.columns(table):
            return f"table {table}" if not history.parts(table) else f"column {need}"
    return None


def rows_of(check: Check, engine: Engine) -> Mapping[int, list[AnomalyRow]]:
    """What a check finds, by history, in an order that does not depend on how it ran."""
    if check.find is not None:
        found = list(check.find({name: engine.table(query) for name, query in check.projections.items()}))
    else:
        found = engine.ask(check.query or "")
    by_history: dict[int, list[AnomalyRow]] = {}
    for row in sorted(found, key=_place):
        by_history.setdefault(row["history"], []).append(row)
    return by_history


def _first_by_history(rows: Sequence[AnomalyRow]) -> dict[int, AnomalyRow]:
    return {row["history"]: row for row in sorted(rows, key=_place, reverse=True)}


def _place(row: AnomalyRow) -> tuple[tuple[bool, str | int], ...]:
    """Sorts by partition and offset, nulls last: the same rows in the same order, whatever order they came in."""
    keys = [row.get(name) for name in ("history", *ROW)]
    keys += [row[name] for name in sorted(row.keys() - {"history", *ROW})]
    return tuple((key is None, "" if key is None else key) for key in keys)
