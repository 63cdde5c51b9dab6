"""A part of a history held in memory: its tables as Arrow columns, cut down by masks, asked about many at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from brokertrial.checkers.linearizability.precedence import Int64Array
from brokertrial.checkers.relations import BASES, RENAMED
from brokertrial.histories.header import Header
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import TABLES, Row
from brokertrial.histories.tables import rows_of

SHARED = tuple(table for table in TABLES if table in BASES)
CONTEXT = "topic"
"""Events of this kind are settings: they say what may be demanded and are no operations of anybody."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class HistorySlice:
    """Some rows of a history, with its header."""

    header: Header
    started_ns: int
    tables: Mapping[str, pa.Table]

    def count(self, table: str) -> int:
        """How many rows of a table it has."""
        return int(self.tables[table].num_rows)

    @property
    def operations(self) -> int:
        """How many calls are in it."""
        return len(np.unique(ints(self.tables["operations"], "op")))

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of a table."""
        for batch in self.tables[table].to_batches():
            yield from rows_of(table, batch)

    def kept(self, choice: Mapping[str, Mask]) -> "HistorySlice":
        """The part of it that a choice names, with the clients that are named in what is left."""
        tables = dict(self.tables)
        for table, mask in choice.items():
            tables[table] = tables[table].filter(pa.array(mask))
        tables["clients"] = tables["clients"].filter(pa.array(np.isin(_texts(tables["clients"]), list(_named(tables)))))
        return HistorySlice(self.header, self.started_ns, tables)

    def write(self, folder: Path) -> None:
        """Records it as a history of its own, which every check can judge."""
        with Recorder.create(folder, self.header) as recorder:
            recorder.title.started_ns = self.started_ns
            for table in SHARED:
                for row in self.rows(table):
                    if getattr(row, "kind", "") != "recording":
                        recorder.add(row)


class Atoms:
    """What is taken away whole. `ids` tells of each row which atom it belongs to; -1: it stays with all the others."""

    def __init__(self, ids: Mapping[str, Int64Array]) -> None:
        """Numbers are 0 to `count` - 1, in the order in which things were called."""
        self.ids = ids
        self.count = 1 + max((int(column.max()) for column in ids.values() if len(column)), default=-1)

    @classmethod
    def calls(cls, part: HistorySlice) -> "Atoms":
        """Each call with everything that it sent or was shown; each batch, membership and event."""
        columns = [ints(part.tables[table], "op") for table in ("operations", "records")]
        _, numbers = np.unique(np.concatenate(columns), return_inverse=True)
        ids = {"operations": numbers[: len(columns[0])], "records": numbers[len(columns[0]) :]}
        following = int(numbers.max()) + 1 if len(numbers) else 0
        for table in ("batches", "memberships", "events"):
            ids[table] = np.arange(part.count(table), dtype=np.int64) + following
            following += part.count(table)
        settings = np.array([kind == CONTEXT for kind in part.tables["events"]["kind"].to_pylist()], dtype=bool)
        ids["events"] = np.where(settings, -1, ids["events"])
        return cls(ids)

    @classmethod
    def lines(cls, part: HistorySlice) -> "Atoms":
        """Each single record of a call, and each partition of a call that has several."""
        op = ints(part.tables["operations"], "op")
        _, inverse, counts = np.unique(op, return_inverse=True, return_counts=True)
        several = counts[inverse] > 1 if len(op) else np.zeros(0, dtype=bool)
        records = part.count("records")
        numbers = np.full(len(op), -1, dtype=np.int64)
        numbers[several] = np.arange(int(several.sum())) + records
        return cls({"records": np.arange(records, dtype=np.int64), "operations": numbers})

    def choice(self, atoms: Int64Array) -> dict[str, Mask]:
        """Which rows stay when these atoms do."""
        stays = np.zeros(self.count + 1, dtype=bool)
        stays[atoms] = True
        stays[-1] = True  # what belongs to no atom
        return {table: stays[column] for table, column in self.ids.items()}


def relations(parts: Sequence[HistorySlice], topics: pa.Table) -> dict[str, pa.Table]:
    """Many parts of one history as the base relations of one question; `topics` are those of that history."""
    made = {
        "histories": pa.table(
            {
                "history": pa.array(range(len(parts)), pa.int32()),
                "nodes": pa.array([part.header.nodes for part in parts], pa.int64()),
                "unclean_election": pa.array([part.header.unclean_election for part in parts], pa.bool_()),
            }
        ),
        "topics": pa.concat_tables([_numbered(topics.drop_columns("history"), number) for number in range(len(parts))]),
    }
    for table in SHARED:
        made[table] = pa.concat_tables([_renamed(_numbered(part.tables[table], n)) for n, part in enumerate(parts)])
    return made


def ints(table: pa.Table, name: str) -> Int64Array:
    """A column of whole numbers; null is -1."""
    return np.asarray(table[name].fill_null(-1).to_numpy(), dtype=np.int64)


def _numbered(table: pa.Table, number: int) -> pa.Table:
    return table.add_column(0, "history", pa.repeat(pa.scalar(number, pa.int32()), table.num_rows))


def _renamed(table: pa.Table) -> pa.Table:
    return table.rename_columns([RENAMED.get(name, name) for name in table.column_names])


def _named(tables: Mapping[str, pa.Table]) -> set[str]:
    return {
        name
        for table in ("operations", "records", "batches", "memberships", "events")
        for name in tables[table]["client"].unique().to_pylist()
        if name is not None
    }


def _texts(clients: pa.Table) -> list[str]:
    return [str(name) for name in clients["client"].to_pylist()]
