"""What a piece of work costs: run in a process of its own, and watched from outside with all that it starts."""

import multiprocessing
import os
import shutil
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

LOOK_S = 0.5
GIB = 1024**3


@dataclass
class Cost:
    """Wall and CPU seconds; the most memory that its processes held, and the most disk that it took, in GiB."""

    seconds: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0
    disk: float = 0.0

    def told(self, operations: int) -> str:
        """One line."""
        each = self.seconds / operations * 1e9
        return (
            f"{self.seconds:.1f} s ({self.cpu:.0f} s of CPU), {each:.0f} ns an operation, "
            f"{self.memory:.1f} GiB of memory and {self.disk:.1f} GiB of disk at most, load {os.getloadavg()[0]:.0f}"
        )


class Failed(RuntimeError):
    """The work ended without a result; the sentence says how."""


def metered(work: Callable[..., Any], *given: Any, scratch: Path, limit_s: float) -> tuple[Any, Cost]:
    """What `work` returns, and its cost; raises Failed when it fails, dies, or takes longer than the limit.

    Its start, and that of all it needs, is part of the time. `scratch` lies on the disk that is watched.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, work, given))
    cost, free, over = Cost(), shutil.disk_usage(scratch).free, threading.Event()
    began = time.monotonic()
    process.start()
    theirs.close()
    watcher = threading.Thread(target=_watch, args=(process.pid, scratch, free, cost, over), daemon=True)
    watcher.start()
    try:
        if not ours.poll(limit_s):
            raise Failed(f"not done within {limit_s:.0f} s")
        problem, result = ours.recv()
    except EOFError:
        problem, result = f"its process ended with status {_status(process)}", None
    finally:
        cost.seconds = time.monotonic() - began
        over.set()
        watcher.join()
        _end(process)
    if problem:
        raise Failed(problem)
    return result, cost


def _work(pipe: Connection, work: Callable[..., Any], given: tuple[Any, ...]) -> None:
    try:
        pipe.send((None, work(*given)))
    except Exception as problem:  # noqa: BLE001 - told to whoever started it
        traceback.print_exc()
        pipe.send((f"{type(problem).__name__}: {str(problem).strip().splitlines()[0][:300]}", None))


def _watch(pid: int, scratch: Path, free: int, cost: Cost, over: threading.Event) -> None:
    root = psutil.Process(pid)
    while not over.wait(LOOK_S):
        held, cpu = 0, 0.0
        try:
            for process in [root, *root.children(recursive=True)]:
                held += process.memory_info().rss
                cpu += sum(process.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
        cost.memory, cost.cpu = max(cost.memory, held / GIB), max(cost.cpu, cpu)
        cost.disk = max(cost.disk, (free - shutil.disk_usage(scratch).free) / GIB)


def _status(process: multiprocessing.process.BaseProcess) -> int | None:
    process.join(30)
    return process.exitcode


def _end(process: multiprocessing.process.BaseProcess) -> None:
    """Ends it with all that it started."""
    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    process.join(10)
    if process.is_alive():
        process.kill()
        process.join()
    for child in family:
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
