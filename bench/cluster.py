"""The same job on a real Spark cluster, one worker killed in its middle: the same rows as DuckDB's.

    python -m bench.cluster [records | folder of a history]        default 1000000

A standalone master and two workers of one core and 2 GiB each run as processes on loopback, from the PySpark wheel.
The history that is made holds a lost write, a duplicate, a phantom and a stream that goes back; one that is given must
hold an anomaly, too. When both workers are busy and half of a stage is done, one is killed with all that it started;
the job must end with the same anomalies.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from bench.checking import FUSED
from bench.synthetic import Planted, write_history
from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.judge import judge, judge_on
from brokertrial.histories.reader import History
from brokertrial.spark_analysis.engine import Spark
from brokertrial.spark_analysis.session import ROWS_OF_A_PART, find_java, open_session
from brokertrial.spark_analysis.tables import rows_in
from brokertrial.wire.ports import free_ports

LOOPBACK = "127.0.0.1"
START_S = 300.0
MIB = 1 << 20


def wait_until(true: Callable[[], bool], what: str, seconds: float = START_S) -> None:
    """Polls; raises TimeoutError that names what it waited for."""
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        pause.wait(0.2)


def listens(port: int) -> bool:
    """Whether somebody serves the port."""
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


@contextmanager
def daemon(scratch: Path, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Spark daemon in a process group of its own, ended with all that it started."""
    script = Path(pyspark.__file__).parent / "bin" / "spark-class"
    settings = {
        "SPARK_LOCAL_IP": LOOPBACK, "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_WORKER_DIR": str(scratch / name), "SPARK_LOCAL_DIRS": str(scratch / f"{name}-spill"),
    }  # fmt: skip
    with (scratch / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [str(script), *arguments], env={**os.environ, **settings}, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kills a daemon and its executors."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait(30)


def kill_half_way(session: SparkSession, node_control: subprocess.Popen[bytes], killed: threading.Event) -> None:
    """Waits until both workers are busy and half of a stage is done, and kills one worker then."""
    tracker = session.sparkContext.statusTracker()

    def half_done() -> bool:
        stages = filter(None, (tracker.getStageInfo(context) for context in tracker.getActiveStageIds()))
        return any(it.numActiveTasks > 1 and 2 * it.numCompletedTasks >= it.numTasks for it in stages)

    wait_until(half_done, "a stage that is half done, with tasks on both workers")
    end(node_control)
    killed.set()


def settings_for(folder: Path, rows: int) -> dict[str, str]:
    """How a history of so many rows is cut into tasks, and what an executor may have."""
    size = sum(file.stat().st_size for file in folder.rglob("*.parquet"))
    return {
        "spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK, "spark.ui.enabled": "false",
        "spark.executor.memory": "1800m", "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": str(max(8, rows // ROWS_OF_A_PART)),
        "spark.sql.files.maxPartitionBytes": str(min(max(size // 64, MIB), 32 * MIB)),
    }  # fmt: skip


def on_cluster(scratch: Path, folder: Path, history: History) -> tuple[list[Anomaly], bool]:
    """What a cluster of two workers finds of which one is killed, and whether it was."""
    port = free_ports(1)[0]
    master = f"spark://{LOOPBACK}:{port}"
    place = ("--host", LOOPBACK, "--port", str(port), "--webui-port", "0")
    worker = ("org.apache.spark.deploy.worker.Worker", "--host", LOOPBACK, "-c", "1", "-m", "2g", "--webui-port", "0")
    with (
        daemon(scratch, "master", "org.apache.spark.deploy.master.Master", *place),
        daemon(scratch, "one", *worker, master),
        daemon(scratch, "two", *worker, master) as node_control,
    ):
        wait_until(lambda: listens(port), "the master")
        session = open_session(master, **settings_for(folder, rows_in([history])))
        killed = threading.Event()
        threading.Thread(target=kill_half_way, args=(session, node_control, killed), daemon=True).start()
        try:
            with Spark.on(session, [history]) as engine:
                return judge_on(engine, [history], FUSED)[0].anomalies, killed.is_set()
        finally:
            session.stop()


def main() -> None:
    """Prints what both engines found, and whether it is the same."""
    asked = sys.argv[1] if len(sys.argv) > 1 else "1000000"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended, and what was made deleted
    find_java()
    with tempfile.TemporaryDirectory(prefix="brokertrial-cluster-") as made:
        folder = Path(asked)
        if asked.isdecimal():
            folder, records = Path(made) / "history", int(asked)
            write_history(folder, records, planted=Planted(
                lost=(records // 2 + 1,), duplicate=(400,), phantom=(records // 3 + 1,), back=(records // 5,)
            ))  # fmt: skip
        history = History.open(folder)
        begin = time.monotonic()
        expected = judge(history, FUSED).anomalies
        print(f"{rows_in([history]):,} rows; DuckDB: {time.monotonic() - begin:.0f} s", flush=True)
        begin = time.monotonic()
        found, killed = on_cluster(Path(made), folder, history)
        took = time.monotonic() - begin
    for anomaly in found:
        print(f"{anomaly.name}: {anomaly.sentence} (operations {anomaly.operations})")
    same = bool(found) and found == expected
    print(f"{len(found)} anomalies in {took:.0f} s; one worker killed: {killed}; same rows: {same}")
    sys.exit(0 if same and killed else 1)


if __name__ == "__main__":
    main()
