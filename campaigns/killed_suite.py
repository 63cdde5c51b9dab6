"""The suite killed -9 at random moments, over every kind of fault and target: what is left of it.

    python -m campaigns.killed_suite [--times 50] [--seed N] [--only networks,toxiproxy]

A run is started as a person does, in turn on each kind of target, and killed some seconds later, by lot: the command
alone, the process of the run and then the command, or both at once. Whatever it started carries a word in its
environment (the processes, and so the network namespaces and packet rules that they hold; proxies are processes too),
or the label of its containers. Nothing of that may be there half a minute later, and what the run had recorded must be
readable.

A line for each time, then how often each kind was tried. Exit status 1 when something was left, or a history could not
be read.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from random import Random

from brokertrial.histories.header import HistoryRefused
from brokertrial.histories.reader import History
from brokertrial.histories.rows import TABLES
from brokertrial.suites.targets.containers import engine

WORD = "BROKERTRIAL_KILLED_SUITE"
GONE_WITHIN_S = 30.0
MOMENTS_S = (1.0, 40.0)
VICTIMS = ("the command", "the run, then it", "both")
KAFKA = "kafka:4.4.0"


@dataclass(frozen=True, slots=True)
class Kind:
    """A target, and cases that do to it what is to be left undone."""

    target: str
    select: tuple[str, ...]
    containers: bool = False


MESSAGES = ("idempotence/lost-*", "ordering/*", "groups/member-cut-off", "transactions/lost-end-answers")
KILLS = ("produce/acked-*", "produce/frozen-leader", "replication/leader-lost", "transactions/*-killed")
KINDS = {
    "messages": Kind("reference", MESSAGES),
    "processes": Kind("reference:3", KILLS),
    "kafka-processes": Kind(f"{KAFKA}?nodes=3", KILLS),
    "networks": Kind("reference:3", ("partition/*",)),
    "kafka-networks": Kind(f"{KAFKA}?nodes=3", ("partition/*",)),
    "toxiproxy": Kind("reference", ("lines/*",)),
    "zookeeper": Kind("kafka:3.9.2?mode=zk", ("zookeeper/*", *KILLS)),
    "containers": Kind(f"image:brokertrial/reference:{version('brokertrial')}", KILLS, containers=True),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one kill left."""

    problems: tuple[str, ...]
    histories: int
    rows: int


def main() -> int:
    """Kills, looks, prints; the exit status."""
    options = _options()
    random = Random(options.seed)
    tried, failed = Counter[str](), 0
    print(f"seed {options.seed}", flush=True)
    for number, name in zip(range(options.times), _in_turn(options.only), strict=False):
        moment, victim = random.uniform(*MOMENTS_S), random.choice(VICTIMS)
        outcome = _once(KINDS[name], moment, victim)
        tried[name] += 1
        failed += bool(outcome.problems)
        said = "; ".join(outcome.problems) or "nothing is left"
        seen = f"{outcome.histories} histories, {outcome.rows} rows"
        print(f"{number + 1:>3} {name:<16} {victim:<23} at {moment:5.1f} s  {seen:<34} {said}", flush=True)
    print("\n" + ", ".join(f"{name} {count}" for name, count in tried.items()) + f": {failed} left something")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=lambda text: text.split(","), default=_possible(), metavar="KIND,...")
    return parser.parse_args()


def _possible() -> list[str]:
    return [name for name, kind in KINDS.items() if engine.answers() or not kind.containers]


def _in_turn(names: list[str]) -> Iterator[str]:
    while True:
        yield from names


def _once(kind: Kind, moment_s: float, victim: str) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="brokertrial-killed-", ignore_cleanup_errors=True) as folder:
        word = Path(folder).name
        suite = _started(kind, Path(folder), word)
        try:
            with suppress(subprocess.TimeoutExpired):
                suite.wait(moment_s)
            _kill(suite, victim, word)
        finally:
            suite.kill()
            suite.wait()
        problems = [*_left(word, kind.containers)]
        histories, rows, unreadable = _read(Path(folder))
        return Outcome((*problems, *unreadable), histories, rows)


def _started(kind: Kind, folder: Path, word: str) -> subprocess.Popen[bytes]:
    command = [
        str(Path(sys.executable).with_name("brokertrial")),
        "run",
        "--target",
        kind.target,
        "--runs",
        str(folder),
    ]
    for pattern in kind.select:
        command += ["--select", pattern]
    silent = subprocess.DEVNULL
    return subprocess.Popen(
        command, env={**os.environ, WORD: word}, stdout=silent, stderr=silent, start_new_session=True
    )


def _kill(suite: subprocess.Popen[bytes], victim: str, word: str) -> None:
    """All that is chosen is stopped first, so that none of them sees the other die."""
    chosen = [] if victim == VICTIMS[1] else [suite.pid]
    if victim != VICTIMS[0]:
        chosen += [pid for pid in _marked(word) if "brokertrial.ci.run_process" in _words(pid)]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in chosen:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _left(word: str, containers: bool) -> Iterator[str]:
    deadline, pulse = time.monotonic() + GONE_WITHIN_S, threading.Event()
    while (_marked(word) or (containers and _containers())) and time.monotonic() < deadline:
        pulse.wait(0.1)
    for pid in _marked(word):
        yield f"process {pid}: {' '.join(_words(pid))[:160]}"
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if containers:
        yield from (f"container {name}" for name in _containers())


def _containers() -> list[str]:
    return engine.left_behind(engine.engine())


def _marked(word: str) -> list[int]:
    """The living processes whose environment has the word; their network namespaces end with them."""
    sought = f"{WORD}={word}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and sought in Path(folder, "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def _read(folder: Path) -> tuple[int, int, list[str]]:
    """How many histories and rows can be read of what was recorded, and which cannot be."""
    histories, rows, unreadable = 0, 0, []
    for place in sorted(folder.glob("*/histories/*")):
        try:
            history = History.open(place, allow_incomplete=True)
            rows += sum(1 for table in TABLES for _ in history.rows(table))
            histories += 1
        except (HistoryRefused, OSError) as problem:
            unreadable.append(f"{place.name}: {problem}")
    return histories, rows, unreadable


if __name__ == "__main__":
    sys.exit(main())
