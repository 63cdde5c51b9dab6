"""What changed under cases since they were proven has not grown too strict: they are put to one real Apache Kafka.

A planted bug cannot show that; a correct broker can. Within the budget, a sample that changes with what has changed.
"""

from __future__ import annotations

import subprocess
from random import Random

import msgspec
import pytest

from brokertrial.suites.case import all_cases
from brokertrial.suites.proving.mutants import CLUSTER_NEEDS
from brokertrial.suites.proving.notes import Note, noted_run
from brokertrial.suites.proving.proof_record import record
from brokertrial.suites.running.estimates import healthy_s
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.targets import TargetNotAvailable
from brokertrial.suites.targets.apache import jars, jvm

pytestmark = pytest.mark.long

BUDGET_S = 90.0
LIMIT_S = 280.0
BESIDE_S = 1.0
"""What a case takes beside what it was measured to take: on Kafka, next to other tests."""


def sample(marked):
    """The cases that fit into the budget, drawn by what changed."""
    drawn = sorted(marked, key=lambda case: case.id)
    Random(repr(sorted({file for files in marked.values() for file in files}))).shuffle(drawn)
    taken, left_s = [], BUDGET_S
    for case in drawn:
        takes_s = BESIDE_S + healthy_s(case, "full")
        if takes_s <= left_s:
            left_s -= takes_s
            taken.append(case)
    return taken


@pytest.mark.kafka
@pytest.mark.timeout(LIMIT_S + 20)
def test_cases_that_are_due_for_renewal_still_pass_on_kafka(tmp_path, request):
    asking = [case for case in all_cases() if case.kind == "wire" and not CLUSTER_NEEDS.intersection(case.needs)]
    marked = {case: files for case in asking if (files := record().marked(case))}
    if not marked:
        return
    try:
        jvm.find("kafka:4.4.0")
        jars.fetched("4.4.0")
    except TargetNotAvailable as lacking:
        pytest.skip(str(lacking))
    taken = sample(marked)
    notes = tmp_path / "notes.jsonl"
    ids = tuple(case.id for case in taken)
    options = RunOptions("kafka:4.4.0", select=ids, run_dir=str(tmp_path / "run"), unproven="fail")
    try:
        said = noted_run(options, notes, LIMIT_S)
    except subprocess.TimeoutExpired:
        said = "it did not come to its end"
    told = [msgspec.json.decode(line, type=Note) for line in notes.read_bytes().splitlines()] if notes.exists() else []
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n{len(marked)} wire cases are due for renewal; {len(told)} were run on Apache Kafka 4.4.0, "
              f"{len(marked) - len(told)} left to `make prove`")  # fmt: skip
    assert told, said
    assert not [f"{one.case}: {one.sentence}" for one in told if one.verdict == "fail"]
