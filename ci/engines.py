"""The engines that can put the checks to a history, by the name that the command line has for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from brokertrial.checkers.engines.base import Engine
from brokertrial.checkers.oracle.engine import Oracle
from brokertrial.ci.errors import UserError
from brokertrial.histories.reader import History

NAMES = ("duckdb", "spark", "oracle")


@contextmanager
def opened(name: str, histories: Sequence[History], oracles: Mapping[str, Oracle]) -> Iterator[Engine]:
    """Histories opened for questions; `oracles` answer them, by their queries, when the engine is the naive one."""
    if name == "spark":
        yield from _spark(histories)
    elif name == "oracle":
        from brokertrial.checkers.oracle.engine import OracleEngine

        with OracleEngine.over(histories, oracles) as naive:
            yield naive
    else:
        from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine

        with DuckDBEngine.over(histories) as duck:
            yield duck


def _spark(histories: Sequence[History]) -> Iterator[Engine]:
    try:
        from brokertrial.spark_analysis.engine import Spark
        from brokertrial.spark_analysis.session import JavaMissing
    except ImportError as missing:
        raise UserError(
            f"--engine spark needs PySpark, which is not installed ({missing.name} is missing).",
            "pip install 'brokertrial[spark]' brings it; --engine duckdb needs nothing more.",
        ) from None
    try:
        with Spark.over(histories) as spark:
            yield spark
    except JavaMissing as missing:
        raise UserError(str(missing)) from None
