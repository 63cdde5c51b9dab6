"""The same job on a real Spark cluster, one worker killed in its middle: the same rows as DuckDB's.

    python bench/cluster.py [records]        default 1000000

A standalone master and two workers run as processes on loopback, from the PySpark wheel. The history holds a lost
write, a duplicate, a phantom and a stream that goes back. As soon as tasks run on both workers, one is killed with all
that it started; the job must end with the same anomalies.
"""

import os
import shutil
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

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from checking import FUSED
from synthetic import Planted, write_history

from checkers.judge import judge, judge_on
from histories.reader import History
from spark_analysis.engine import Spark
from spark_analysis.session import find_java, open_session

LOOPBACK = "127.0.0.1"
START_S = 300.0


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


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
def daemon(scratch: Path, name: str, *arguments: str) -> Iterator[subprocess.Popen]:
    """A Spark daemon in a process group of its own, ended with all that it started."""
    script = Path(pyspark.__file__).parent / "bin" / "spark-class"
    settings = {"SPARK_LOCAL_IP": LOOPBACK, "SPARK_WORKER_DIR": str(scratch / name), "SPARK_DAEMON_MEMORY": "256m"}
    with (scratch / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [str(script), *arguments], env={**os.environ, **settings}, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen) -> None:
    """Kills a daemon and its executors."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait(30)


def kill_when_busy(session, victim: subprocess.Popen, killed: threading.Event) -> None:
    """Waits for a stage that is partly done, and kills one worker then."""
    tracker = session.sparkContext.statusTracker()

    def busy() -> bool:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return any(stage and stage.numCompletedTasks > 1 and stage.numActiveTasks > 1 for stage in stages)

    wait_until(busy, "a stage that is partly done, with tasks on both workers")
    end(victim)
    killed.set()


def main() -> None:
    """Prints what both engines found, and whether it is the same."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    planted = Planted(lost=(records // 2 + 1,), duplicate=(400,), phantom=(records // 3 + 1,), back=(records // 5,))
    find_java()
    scratch = Path(tempfile.mkdtemp(prefix="brokertrial-cluster-"))
    port = free_port()
    master = f"spark://{LOOPBACK}:{port}"
    worker = ("org.apache.spark.deploy.worker.Worker", "--host", LOOPBACK, "-c", "1", "-m", "1g", "--webui-port", "0")
    try:
        write_history(scratch / "history", records, planted=planted)
        history = History.open(scratch / "history")
        expected = judge(history, FUSED).anomalies
        place = ("--host", LOOPBACK, "--port", str(port), "--webui-port", "0")
        with (
            daemon(scratch, "master", "org.apache.spark.deploy.master.Master", *place),
            daemon(scratch, "one", *worker, master),
            daemon(scratch, "two", *worker, master) as victim,
        ):
            wait_until(lambda: listens(port), "the master")
            session = open_session(
                master,
                **{
                    "spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK, "spark.ui.enabled": "false",
                    "spark.executor.memory": "800m", "spark.executor.cores": "1", "spark.sql.shuffle.partitions": "8",
                    "spark.sql.files.maxPartitionBytes": "1m",
                },
            )  # fmt: skip
            killed = threading.Event()
            threading.Thread(target=kill_when_busy, args=(session, victim, killed), daemon=True).start()
            begin = time.monotonic()
            with Spark.on(session, [history]) as engine:
                found = judge_on(engine, [history], FUSED)[0].anomalies
            took = time.monotonic() - begin
            session.stop()
        for anomaly in found:
            print(f"{anomaly.name}: {anomaly.sentence}")
        same = found == expected
        print(f"{len(found)} anomalies in {took:.0f} s; one worker killed: {killed.is_set()}; same rows: {same}")
        sys.exit(0 if same and killed.is_set() else 1)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
