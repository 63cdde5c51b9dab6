"""Runs checks on a stored history: which engine, which client settings, and what those settings allow."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.judge import Judgement, judge_on
from brokertrial.ci.engines import opened
from brokertrial.histories.reader import History
from brokertrial.histories.tables import schema_of
from brokertrial.histories.tempdirs import Scratch

STRICTEST: dict[str, Any] = {"acks": -1, "idempotence": True, "isolation": "read_committed"}
_MODE = {True: "subscribe", False: "assign"}


@dataclass(frozen=True)
class CheckRunner:
    """Puts the checks of checkers/checks to histories. `strict`: what the settings permit is held against it too."""

    engine: str = "duckdb"
    strict: bool = False
    permitted: bool = False

    def __call__(self, history: History, names: Collection[str] | None = None) -> Judgement:
        """The judgement; with `permitted`, also what would be wrong if every client had the strictest settings."""
        found = self._judge(history, names)
        found.permitted = found.listed
        if self.strict or self.permitted:
            with Scratch("stricter") as folder:
                would_be = self._judge(
                    with_client_settings(history, Path(folder), STRICTEST, unclean_election=False), names
                )
            known = {_place(anomaly) for anomaly in (*found.anomalies, *found.permitted)}
            found.permitted += [anomaly for anomaly in would_be.anomalies if _place(anomaly) not in known]
        if self.strict:
            found.anomalies, found.permitted = found.anomalies + found.permitted, []
        return found

    def _judge(self, history: History, names: Collection[str] | None) -> Judgement:
        with opened(self.engine, [history]) as engine:
            return judge_on(engine, [history], names)[0]


def with_client_settings(history: History, folder: Path, settings: Mapping[str, Any], **header: Any) -> History:
    """The same history, as if every client had these settings."""
    clients = history.arrow("clients")
    for name, value in settings.items():
        field = schema_of("clients").field(name)
        column = pa.array([value] * clients.num_rows, field.type)
        at = clients.schema.get_field_index(name)
        clients = clients.append_column(field, column) if at < 0 else clients.set_column(at, field, column)
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(clients, folder / "clients.parquet")
    title = msgspec.structs.replace(history.title, header=msgspec.structs.replace(history.header, **header))
    return History(history.folder, title, {**history.tables, "clients": [folder / "clients.parquet"]})


def assumed_settings(stated: Mapping[str, Any]) -> dict[str, Any]:
    """What was assumed on the command line as columns of the clients."""
    columns = {name: value for name, value in stated.items() if name not in ("ww", "subscribe")}
    return columns | ({"mode": _MODE[stated["subscribe"]]} if "subscribe" in stated else {})


def _place(anomaly: Anomaly) -> tuple[Any, ...]:
    """What makes two anomalies the same, however they were found."""
    return (anomaly.name, anomaly.topic, anomaly.partition, anomaly.group, anomaly.offsets[:1], anomaly.values[:1])
