"""The naive oracle as an engine: where a definition has been said as loops over lists, those answer for the query."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from brokertrial.checkers.check import Check
from brokertrial.checkers.engines.base import Engine
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.oracle.facts import Facts
from brokertrial.histories.reader import History

Oracle = Callable[[Facts], Iterator[Mapping[str, Any]]]


class OracleEngine(Engine):
    """Histories opened for questions; every other question (is there a subject, is there a gap) goes to DuckDB."""

    def __init__(self, duck: DuckDBEngine, facts: Sequence[Facts], oracles: Mapping[str, Oracle]) -> None:
        """Use `OracleEngine.over`."""
        self._duck = duck
        self._facts = facts
        self._oracles = oracles

    @classmethod
    def over(cls, histories: Sequence[History], oracles: Mapping[str, Oracle]) -> Self:
        """Reads histories into memory; `oracles` by the query that they answer."""
        return cls(DuckDBEngine.over(histories), [Facts.of(history) for history in histories], oracles)

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query, or of the oracle for it."""
        oracle = self._oracles.get(query)
        if oracle is None:
            return self._duck.ask(query)
        found = ((number, row) for number, facts in enumerate(self._facts) for row in oracle(facts))
        return [{"history": number, "sentence": _sentence(row), **row} for number, row in found]

    def table(self, query: str) -> pa.Table:
        """The rows of a query, as Arrow columns."""
        return self._duck.table(query)

    def prepared(self, check: Check) -> Check:
        """The check as it is."""
        return check

    def settled(self, check: str) -> frozenset[int]:
        """Nothing is settled by shortcuts here."""
        return frozenset()

    def close(self) -> None:
        """Forgets everything."""
        self._duck.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()


def _sentence(row: Mapping[str, Any]) -> str:
    where = f" in {row['topic']}" if row.get("topic") is not None else ""
    what = f" at offset {row['offset_a']}" if row.get("offset_a") is not None else ""
    operations = [str(row[name]) for name in ("op_a", "op_b", "op_c") if row.get(name) is not None]
    return f"The naive definition finds this{where}{what}: operations {', '.join(operations) or 'unknown'}."
