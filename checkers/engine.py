"""What an engine is to the judge, and the two relations that every engine makes from headers and events."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
import pyarrow as pa

from histories.reader import History
from histories.rows import Event


class Engine(Protocol):
    """Histories opened for questions in the SQL of checkers/relations: DuckDB here, Spark in spark_analysis."""

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query, as dicts."""

    def table(self, query: str) -> pa.Table:
        """The rows of a query, as Arrow columns."""


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
    """The settings of topics that change what may be demanded, from the events of kind `topic`."""
    found: list[tuple[int, str, bool]] = []
    for number, history in enumerate(histories):
        for event in history.rows("events"):
            if isinstance(event, Event) and event.kind == "topic" and event.topic is not None:
                settings = msgspec.json.decode(event.fields or "{}")
                found.append((number, event.topic, "compact" in str(settings.get("cleanup_policy", ""))))
    compacted: dict[tuple[int, str], bool] = {}
    for number, topic, compact in found:
        compacted[number, topic] = compacted.get((number, topic), False) or compact
    return pa.table(
        {
            "history": pa.array([number for number, _ in compacted], pa.int32()),
            "topic": pa.array([topic for _, topic in compacted], pa.string()),
            "compacted": pa.array(list(compacted.values()), pa.bool_()),
        }
    )
