"""What an engine is to the judge, and the two relations that every engine makes from headers and events."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import pyarrow as pa

from brokertrial.checkers.check import Check
from brokertrial.checkers.engines.soundness import unsound
from brokertrial.histories.reader import History
from brokertrial.histories.rows import Event


class Engine(ABC):
    """Histories opened for questions in the SQL of checkers/relations: DuckDB here, Spark in spark_analysis."""

    @cached_property
    def unsound(self) -> Mapping[int, str]:
        """The histories that must not be judged, each with the reason: asked once, whatever is asked after."""
        return unsound(self.ask)

    @cached_property
    def mistaken(self) -> frozenset[tuple[int, int]]:
        """History and operation of what a client did to itself: see `taken_for_another` and `misreported`."""
        rows = self.ask(
            "SELECT t.history, t.op FROM taken_for_another t UNION SELECT m.history, m.op FROM misreported m"
        )
        return frozenset((row["history"], row["op"]) for row in rows)

    @abstractmethod
    def ask(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query, as dicts."""

    @abstractmethod
    def table(self, query: str) -> pa.Table:
        """The rows of a query, as Arrow columns."""

    @abstractmethod
    def prepared(self, check: Check) -> Check:
        """The check as this engine puts it: the same rows come of it."""

    @abstractmethod
    def settled(self, check: str) -> frozenset[int]:
        """Histories of which the fingerprint says that this check finds nothing."""


def titles(histories: Sequence[History]) -> pa.Table:
    """What the headers say that decides what may be demanded."""
    headers = [history.header for history in histories]
    return pa.table(
        {
            "history": pa.array(range(len(headers)), pa.int32()),
            "nodes": pa.array([header.nodes for header in headers], pa.int64()),
            "unclean_election": pa.array([header.unclean_election for header in headers], pa.bool_()),
        }
    )


def topics(histories: Sequence[History]) -> pa.Table:
    """The settings of topics that change what may be demanded, from the events of kind `topic`; null: not stated."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for number, history in enumerate(histories):
        for event in history.rows("events"):
            if isinstance(event, Event) and event.kind == "topic" and event.topic is not None:
                known, settings = found.setdefault((number, event.topic), {}), msgspec.json.decode(event.fields or "{}")
                policies = [str(each.get("cleanup_policy", "")) for each in (known, settings)]
                known.update(settings, cleanup_policy=",".join(filter(None, policies)))
    policies = [settings["cleanup_policy"] for settings in found.values()]
    columns = {
        "history": pa.array([number for number, _ in found], pa.int32()),
        "topic": pa.array([topic for _, topic in found], pa.string()),
        "compacted": pa.array(["compact" in policy for policy in policies], pa.bool_()),
        "deletes": pa.array(["compact" not in policy or "delete" in policy for policy in policies], pa.bool_()),
    }
    for name in ("retention_ms", "retention_bytes", "min_compaction_lag_ms"):
        columns[name] = pa.array([_number(settings.get(name)) for settings in found.values()], pa.int64())
    return pa.table(columns)


def _number(setting: Any) -> int | None:
    """A setting as a number; brokers tell them as text."""
    try:
        return None if setting is None else int(setting)
    except (TypeError, ValueError):
        return None
