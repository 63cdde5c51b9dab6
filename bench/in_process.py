"""What wire cases see of a changed broker in one process, on virtual time: seconds, where a run takes minutes.

It finds the accusations; that they are some is for a run with real processes to say (patched_brokers.py).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import Case, own_cases
from brokertrial.suites.proving import mutants
from brokertrial.suites.running.estimates import healthy_s
from brokertrial.suites.situations.choice import chosen_pairs
from brokertrial.suites.situations.pair_record import record

WORKER = Path(__file__).with_name("in_process_worker.py")
ELSEWHERE = mutants.CLUSTER_NEEDS | {"zookeeper"}
MEMORY = Path("/dev/shm")


class Said(msgspec.Struct):
    """What came of one entry."""

    entry: str
    verdict: str
    sentence: str = ""


def entries(situations: tuple[str, ...] = (), seed: int = 1, nodes: int = 1) -> list[str]:
    """The wire cases that one node is enough for, or the pairs of these that a run would choose; in a drawn order.

    With several nodes: all wire cases, those first that need them, and no pairs.
    """
    if nodes > 1:
        everything = [one for one in own_cases() if one.kind == "wire" and "zookeeper" not in one.needs]
        for_clusters = [one for one in everything if mutants.CLUSTER_NEEDS.intersection(one.needs)]
        return [*_mixed(for_clusters, seed), *_mixed([one for one in everything if one not in for_clusters], seed)]
    cases = [one for one in own_cases() if one.kind == "wire" and not ELSEWHERE.intersection(one.needs)]
    if situations:
        pairs = chosen_pairs(cases, situations, seed, record(), lambda case: healthy_s(case, "full"))
        cases = [pair for pair in pairs if not ELSEWHERE.intersection(pair.needs)]
    return _mixed(cases, seed)


def accused(chosen: Iterable[str], enough: int, nodes: int = 1) -> list[Said]:
    """The first entries that fail, up to `enough`; the broker is the one that PYTHONPATH names first."""
    found: list[Said] = []
    for said in _answers(chosen, nodes):
        if said.verdict == Verdict.FAIL:
            found.append(said)
            if len(found) == enough:
                break
    return found


def _mixed(cases: list[Case], seed: int) -> list[str]:
    names = [case.id for case in cases]
    Random(seed).shuffle(names)
    return names


def _answers(chosen: Iterable[str], nodes: int) -> Iterator[Said]:
    """One process for all; where it dies of an entry, that entry has failed and a new one goes on behind it."""
    waiting = list(chosen)
    while waiting:
        with tempfile.TemporaryDirectory(prefix="in-process-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
            listed = Path(folder, "entries")
            listed.write_text("\n".join(waiting), encoding="utf-8")
            words = [sys.executable, "-P", str(WORKER), folder, str(listed), str(nodes)]
            worker = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            assert worker.stdout is not None
            try:
                for line in worker.stdout:
                    waiting.pop(0)
                    yield msgspec.json.decode(line, type=Said)
            finally:
                worker.kill()
                worker.wait()
                worker.stdout.close()
            if waiting:
                yield Said(waiting.pop(0), Verdict.FAIL, "the process with the broker died")
