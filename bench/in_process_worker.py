"""Puts wire cases to the broker in this process, on virtual time; in_process.py starts it with another broker.

    python -P bench/in_process_worker.py FOLDER ENTRIES [NODES]    # a file, one a line: a case, or a pair

On three nodes a case only. A line of JSON an entry comes back as it is decided.
"""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import msgspec

from bench.in_process import Said
from brokertrial.checkers.verdict import Verdict
from brokertrial.faults.node_control import NodeControl
from brokertrial.suites.case import Case
from brokertrial.suites.closing_look.look import closing_look
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.run_case import Situate, attempt
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import Outcome
from brokertrial.suites.running.disturbance import Disturbance
from brokertrial.suites.situations import situation_of
from brokertrial.suites.situations.pairs import case_named
from tests.suites.in_process import NODE, NOW_MS, InProcess, OnlyNode
from tests.suites.in_process_cluster import tried_in_cluster

LONGEST_S = 120
"""Of this process's time: a broker in it that never comes back would take it along. Of the machine's time it is ten
times as much: others may have its processors, and a broker that waits in earnest uses none."""
AGAIN_S = 1.0
"""What is raised while the event loop is in a callback ends that callback alone, and is raised again."""


class TooLong(SystemExit):
    """The broker did not come back."""


def main() -> None:
    """Answers each entry, in this order."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.signal(signal.SIGPROF, _too_long)
    folder, entries = map(Path, sys.argv[1:3])
    nodes = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    for name in entries.read_text(encoding="utf-8").splitlines():
        case = case_named(name)
        assert case is not None, name
        print(msgspec.json.encode(_said(case, folder / "data", nodes)).decode(), flush=True)


def _said(case: Case, data: Path, nodes: int) -> Said:
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S, AGAIN_S)
    signal.setitimer(signal.ITIMER_REAL, 10 * LONGEST_S, AGAIN_S)
    try:
        outcome, raised = _tried(case, data) if nodes == 1 else (tried_in_cluster(case, data, look=closing_look), None)
    except TooLong:
        return Said(case.id, Verdict.FAIL, f"the broker did not come back within {LONGEST_S} s")
    except Exception as error:  # noqa: BLE001 - the broker is in this process: what it raises ends the attempt
        return Said(case.id, Verdict.FAIL, f"the broker raised {type(error).__name__}: {error}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    if raised is not None and outcome.verdict is not Verdict.FAIL:
        return Said(case.id, Verdict.FAIL, f"the broker raised in the background: {type(raised).__name__}: {raised}")
    return Said(case.id, outcome.verdict, outcome.reason.sentence if outcome.reason else "")


def _tried(case: Case, data: Path) -> tuple[Outcome, BaseException | None]:
    """What came of it, and what the broker raised that no request met: its log would show that."""
    world = InProcess(data)
    try:
        context = CaseContext(
            prefix="bt-x",
            case=case.id,
            latency_ms=0.1,
            time_ms=NOW_MS,
            closing_look=True,
            names_alike=True,
            situation=case.situation,
        )
        wire = Wire(world, context, [world.address])
        controls: Mapping[int, NodeControl] = {NODE: OnlyNode(world)}
        situate = _situate(case, world, controls)
        outcome = attempt(case, wire, world, controls, lambda: True, None, closing_look, situate)
        return outcome, next(iter(world.raised), None)
    finally:
        world.end()


def _situate(case: Case, world: InProcess, controls: Mapping[int, NodeControl]) -> Situate | None:
    draw = case.situation
    if draw is None:
        return None
    return lambda wire: situation_of(draw, case.plain_id, wire, Disturbance(controls, {}, lambda: wire))


def _too_long(*_: object) -> None:
    raise TooLong


if __name__ == "__main__":
    main()
