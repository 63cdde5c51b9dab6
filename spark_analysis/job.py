"""One job over many histories: open, plant, judge, prove that it judged, profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import SparkSession

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.check import all_checks
from brokertrial.checkers.judge import Judgement, judge_by
from brokertrial.histories.availability import QUERY, FaultKindSummary, Profile, ProfileRow, by_history, kinds, profile
from brokertrial.histories.header import FILE, HistoryRefused
from brokertrial.histories.reader import History
from brokertrial.spark_analysis.canaries import CanaryResult, PlantedAnomaly, planted, proof
from brokertrial.spark_analysis.engine import Spark
from brokertrial.spark_analysis.remote_history import Elsewhere, histories_under, is_elsewhere

PROVEN = 30
"""Anomalies of which the operations are fetched."""

ReportProgress = Callable[[str], None]


class NothingThere(ValueError):
    """A place holds no history."""


@dataclass(frozen=True)
class Opened:
    """A history and where it came from."""

    place: str
    run: str
    history: History


@dataclass(frozen=True)
class RefusedHistory:
    """A history that must not be judged, and why."""

    place: str
    why: str


@dataclass
class HistoryResult:
    """What the job found in one history."""

    opened: Opened
    judgement: Judgement
    profile: Profile | None = None
    sums: list[ProfileRow] = field(default_factory=list)
    operations: dict[int, ProfileRow] = field(default_factory=dict)


@dataclass(frozen=True)
class JobResult:
    """What the job found, and what it can vouch for."""

    found: list[HistoryResult]
    kinds: list[FaultKindSummary]
    proof: CanaryResult
    miscounted: list[str]
    """Histories of which not as many records were read as were written: nothing may be said of them."""


def open_all(
    session: SparkSession, places: Sequence[str], tell: ReportProgress
) -> tuple[list[Opened], list[RefusedHistory]]:
    """The histories at run folders, history folders and URIs, each verified; raises NothingThere."""
    opened: list[Opened] = []
    refused: list[RefusedHistory] = []
    for place in places:
        under = histories_under(session, place) if is_elsewhere(place) else _local(place)
        if not under:
            raise NothingThere(f"{place} is neither a run folder (histories/*/{FILE}) nor a history ({FILE}).")
        for each in under:
            tell(f"verifying {each}")
            try:
                history = Elsewhere.at(session, each) if is_elsewhere(place) else History.open(each)
            except HistoryRefused as problem:
                refused.append(RefusedHistory(each, str(problem)))
                continue
            opened.append(Opened(each, place.rstrip("/").rpartition("/")[2], history))
    return opened, refused


def _local(place: str) -> list[str]:
    folder = Path(place.removeprefix("file://"))
    if (folder / FILE).is_file():
        return [str(folder)]
    return sorted(str(file.parent) for file in folder.glob(f"histories/*/{FILE}"))


def analyze(session: SparkSession, opened: Sequence[Opened], out: str, tell: ReportProgress) -> JobResult:
    """Judges and profiles the histories; `out` is a folder that the executors can write to and read from."""
    tell("planting canaries")
    with planted(session, f"{out}/canaries", len(opened)) as canaries:
        return _judged(session, opened, canaries, tell)


def _judged(
    session: SparkSession, opened: Sequence[Opened], planted: PlantedAnomaly, tell: ReportProgress
) -> JobResult:
    everything = [*(each.history for each in opened), *planted.histories]
    asked = [frozenset(each.history.header.settings.get("checks", ())) for each in opened]
    named = frozenset[str]().union(*asked)
    checks = [check for check in all_checks().values() if check.default or check.name in named]
    with Spark.on(session, [each.history for each in opened], planted) as engine:
        judgements = [Judgement() for _ in opened]
        canaries: dict[str, list[Judgement]] = {}
        for number, check in enumerate(checks, start=1):
            tell(f"{check.name} ({number} of {len(checks)})")
            parts = judge_by([check], engine, everything)
            canaries[check.name] = parts[len(opened) :]
            for whole, part, asked_for in zip(judgements, parts, asked, strict=False):
                if check.default or check.name in asked_for:
                    _add(whole, part)
        found = [HistoryResult(each, judgement) for each, judgement in zip(opened, judgements, strict=True)]
        tell("availability")
        for number, rows in by_history(engine.ask(QUERY)).items():
            if number < len(found):
                found[number].sums = rows
                found[number].profile = profile(rows, found[number].opened.history)
        tell("certificates")
        certify(engine, found)
        miscounted = _miscounted(engine, opened)
    return JobResult(found, kinds(each.profile for each in found if each.profile), proof(canaries), miscounted)


def _add(whole: Judgement, part: Judgement) -> None:
    for name in msgspec.structs.fields(Judgement):
        mine, theirs = getattr(whole, name.name), getattr(part, name.name)
        mine.update(theirs) if isinstance(mine, dict) else mine.extend(theirs)


def certify(engine: Spark, found: Sequence[HistoryResult]) -> None:
    """Fetches the operations that prove the first anomalies, in one scan."""
    wanted: list[tuple[int, Anomaly]] = []
    for number, each in enumerate(found):
        wanted += [(number, anomaly) for anomaly in each.judgement.anomalies[:PROVEN]]
    conditions = [
        f"(o.history = {number} AND o.op IN ({', '.join(map(str, anomaly.operations))}))"
        for number, anomaly in wanted[:PROVEN]
        if anomaly.operations
    ]
    if not conditions:
        return
    names = ["history", "op", "client", "kind", "topic", "partition", "call_ns", "return_ns", "outcome", "base_offset"]
    columns = ", ".join(f"o.{name}" for name in names)
    for row in engine.ask(f"SELECT {columns} FROM operations o WHERE {' OR '.join(conditions)}"):
        found[row["history"]].operations[row["op"]] = row


def _miscounted(engine: Spark, opened: Sequence[Opened]) -> list[str]:
    """The fingerprint saw every record once: as many as the parts of each history hold, or something was not read."""
    counted: dict[int, Any] = {
        row["history"]: row["records"]
        for row in engine.ask(
            "SELECT p.history, SUM(p.records) AS records FROM block_fingerprints p GROUP BY p.history"
        )
    }
    return [
        f"{each.place}: {counted.get(number, 0)} records were read of {each.history.count('records')}"
        for number, each in enumerate(opened)
        if counted.get(number, 0) != each.history.count("records")
    ]
