"""What a job leaves behind: one JSON, and its two tables as Parquet, wherever Spark can write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.availability import FaultKindSummary, Profile, kinds
from brokertrial.spark_analysis.job import HistoryResult, JobResult, RefusedHistory
from brokertrial.spark_analysis.remote_history import Files
from brokertrial.spark_analysis.tables import frame_of

_ANOMALIES = pa.schema(
    [(name, pa.string()) for name in ("place", "run", "case", "target", "target_version")]
    + [(name, pa.string()) for name in ("name", "guarantee", "strength", "attribution", "topic", "group", "sentence")]
    + [("partition", pa.int64()), ("offsets", pa.string()), ("values", pa.string()), ("operations", pa.string())]
)
_TIMES = [name for name in Profile.__struct_fields__ if name not in ("acknowledged", "windows")]


class CaseRow(msgspec.Struct, kw_only=True):
    """One history as results.json tells it."""

    place: str
    run: str
    case: str
    target: str
    target_version: str
    verdict: str
    reasons: list[str] = []
    anomalies: list[Anomaly] = []
    permitted: list[Anomaly] = []
    totals: dict[str, int] = {}
    judged: list[str] = []
    not_applicable: dict[str, str] = {}
    profile: Profile | None = None


class TargetRow(msgspec.Struct, kw_only=True):
    """All histories of one version of one target."""

    target: str
    target_version: str
    histories: int
    verdicts: dict[str, int]
    totals: dict[str, int]
    """Anomalies by check."""
    kinds: list[FaultKindSummary]


class Results(msgspec.Struct, kw_only=True):
    """results.json."""

    master: str
    seconds: float
    cases: list[CaseRow]
    refused: dict[str, str]
    kinds: list[FaultKindSummary]
    targets: list[TargetRow]
    proven: tuple[str, ...]
    unproven: tuple[str, ...]
    wrong: tuple[str, ...]


Rule = Callable[[HistoryResult], tuple[Verdict, list[str]]]


def verdict_of(found: HistoryResult) -> tuple[Verdict, list[str]]:
    """Fails by what the broker did; nothing that is in doubt is a pass."""
    judgement = found.judgement
    if any(anomaly.attribution == "broker" for anomaly in judgement.anomalies):
        return Verdict.FAIL, []
    reasons = [f"{check}: {why}" for check, why in judgement.inconclusive.items()]
    reasons += [f"{each.attribution}: {each.sentence}" for each in judgement.anomalies]
    if reasons:
        return Verdict.INCONCLUSIVE, reasons
    return (Verdict.PASS, []) if judgement.judged else (Verdict.NOT_APPLICABLE, ["nothing to judge"])


def results_of(
    outcome: JobResult, refused: Sequence[RefusedHistory], master: str, seconds: float, rule: Rule = verdict_of
) -> Results:
    """The whole job as plain data. `rule` says what came of each history, and why."""
    cases = [_case(each, *rule(each)) for each in outcome.found]
    return Results(
        master=master,
        seconds=round(seconds, 1),
        cases=cases,
        refused={each.place: each.why for each in refused},
        kinds=outcome.kinds,
        targets=by_target(cases),
        proven=outcome.proof.proven,
        unproven=outcome.proof.unproven,
        wrong=(*outcome.proof.wrong, *outcome.miscounted),
    )


def by_target(cases: Sequence[CaseRow]) -> list[TargetRow]:
    """A row for each version of each target, in the order of their names."""
    apart: dict[tuple[str, str], list[CaseRow]] = {}
    for case in cases:
        apart.setdefault((case.target, case.target_version), []).append(case)
    rows = []
    for (target, version), some in sorted(apart.items()):
        totals: Counter[str] = Counter()
        for case in some:
            totals.update(case.totals)
        rows.append(
            TargetRow(
                target=target,
                target_version=version,
                histories=len(some),
                verdicts=dict(Counter(case.verdict for case in some)),
                totals=dict(totals),
                kinds=kinds(case.profile for case in some if case.profile is not None),
            )
        )
    return rows


def _case(found: HistoryResult, verdict: Verdict, reasons: list[str]) -> CaseRow:
    header, judgement = found.opened.history.header, found.judgement
    return CaseRow(
        place=found.opened.place,
        run=found.opened.run,
        case=header.case,
        target=header.target,
        target_version=header.target_version,
        verdict=verdict.name.lower(),
        reasons=reasons,
        anomalies=judgement.anomalies,
        permitted=judgement.listed,
        totals=judgement.totals,
        judged=judgement.judged,
        not_applicable=judgement.not_applicable,
        profile=found.profile,
    )


def write(session: SparkSession, out: str, results: Results, page: str) -> None:
    """results.json and report.html, anomalies/ and availability/ as Parquet."""
    files = Files(session)
    files.write(f"{out}/results.json", msgspec.json.format(msgspec.json.encode(results), indent=1))
    files.write(f"{out}/report.html", page.encode())
    for name, table in (("anomalies", anomalies_of(results)), ("availability", availability_of(results))):
        frame_of(session, table).coalesce(1).write.mode("overwrite").parquet(f"{out}/{name}")


def anomalies_of(results: Results) -> pa.Table:
    """One row an anomaly; lists are JSON."""
    rows = [
        _of(case) | msgspec.to_builtins(anomaly) | {
            name: msgspec.json.encode(getattr(anomaly, name)).decode() for name in ("offsets", "values", "operations")
        }
        for case in results.cases
        for anomaly in case.anomalies
    ]  # fmt: skip
    return pa.Table.from_pylist([{name: row.get(name) for name in _ANOMALIES.names} for row in rows], _ANOMALIES)


def availability_of(results: Results) -> pa.Table:
    """One row a history, and one a fault window (with `window` and its own columns filled)."""
    numbers = [*_TIMES, "begin_s", "healed_s", "gap_s", "recovered_s", "p99_before_ms", "p99_during_ms"]
    names = ["place", "run", "case", "target", "target_version", "window", "kind"]
    fields = [(name, pa.string()) for name in names] + [("acknowledged", pa.int64())]
    schema = pa.schema(fields + [(name, pa.float64()) for name in numbers])
    rows: list[dict[str, Any]] = []
    for case in results.cases:
        if case.profile is not None:
            rows.append(_of(case) | msgspec.to_builtins(case.profile))
            rows += [_of(case) | msgspec.to_builtins(window) for window in case.profile.windows]
    return pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema)


def _of(case: CaseRow) -> dict[str, Any]:
    return {name: getattr(case, name) for name in ("place", "run", "case", "target", "target_version")}
