"""Relations that many queries read: computed once, kept in memory, and a leaf of every plan that reads them.

A view of a frame that was persisted is still the whole plan behind it, down to the tables; Spark looks up again, query
by query, which part of it is in memory. The relations here stand on each other ten deep and most are read twice, so
that a query of a few joins is planned as one of thousands of nodes. What `kept` returns names the rows in memory
themselves. Rows that a lost machine held are computed again from where they came.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType


def kept(session: SparkSession, frame: DataFrame) -> DataFrame:
    """The rows of a frame in memory, all there when this returns, so that the planner knows how many they are.

    `frame.unpersist()` ends it.
    """
    frame.persist()
    held: Any = frame._jdf.queryExecution().withCachedData()
    if not _frame_of(session, held).count():
        return nothing(session, frame.schema)
    return _frame_of(session, held.newInstance())  # a new one, which asks how many rows there are


def nothing(session: SparkSession, schema: StructType | str) -> DataFrame:
    """A frame of which the planner knows that it has no rows, so that joins with it are never run."""
    return session.createDataFrame([], schema).limit(0)


def _frame_of(session: SparkSession, plan: Any) -> DataFrame:
    jvm: Any = session._jvm
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan), session)
