"""The engines that can put the checks to a history, by the name that the command line has for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from brokertrial.checkers.engines.base import Engine
from brokertrial.ci.errors import UserError
from brokertrial.histories.reader import History

NAMES = ("duckdb", "spark")


@contextmanager
def opened(name: str, histories: Sequence[History]) -> Iterator[Engine]:
    """Histories opened for questions."""
    if name == "spark":
        yield from _spark(histories)
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
