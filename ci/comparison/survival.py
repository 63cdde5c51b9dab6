"""What survives a leader kill, a cut, a freeze: rows of faults, as the schedules of the cases name them.

kill of the leader              kafka ✓ 5/5    mine ✗ lost 2/5
responses to Produce lost       kafka ✓ 3/3    mine ✗ doubled 1/3
power cut                       ∅ not provoked by this suite
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from brokertrial.ci.comparison.column import Column
from brokertrial.ci.comparison.matrix import Cell
from brokertrial.ci.comparison.standing import standing_of
from brokertrial.suites.result import CaseResult

ROLE = re.compile(r"(?P<role>[a-z_]+)\(")
ROLES = {
    "leader": "the partition leader",
    "coordinator": "the group coordinator",
    "transaction_coordinator": "the transaction coordinator",
    "controller": "the controller",
    "follower": "a follower",
}
WORDS = {
    "kill": "kill -9 of {role}",
    "terminate": "orderly stop of {role}",
    "restart": "restart of {role}",
    "pause": "freeze of {role} (SIGSTOP)",
    "cut": "clients cut off from {role}",
    "drop_response": "responses to {api} lost",
    "drop_request": "{api} requests lost",
    "duplicate_request": "{api} requests delivered twice",
    "delay": "slow network: {api}",
    "hold": "{api} requests that arrive late",
    "error_after": "{api} done, but answered with an error",
    "error_instead": "{api} refused once, for a reason that passes",
    "isolate": "{role} cut off from all other nodes",
    "one_way": "{role} heard by no other node, or hearing none",
    "cut_clients": "{role} cut off from clients alone",
    "cut_controllers": "{role} cut off from the controllers",
    "cut_replication": "{role} cut off from the other replicas",
    "bridge": "a bridge: only {role} sees everybody",
    "ring": "packets pass in a ring",
    "flap": "a loose cable at {role}",
    "delay_packets": "slow and reordered packets at {role}",
    "lose_packets": "packets lost at {role}",
    "limit_bandwidth": "a narrow line at {role}",
    "reset_connections": "connections between nodes reset",
}
BETWEEN_REQUESTS = {"kill": "kill -9 between two requests", "terminate": "orderly stop between two requests"}
"""By what a case of single requests needs of its target."""
NOT_PROVOKED = {
    "power_cut": "power cut: what was in the page cache is gone",
    "disk_full": "full disk",
    "torn_write": "torn writes and flipped bits on the disk",
    "clock_jump": "a clock that jumps",
}
"""By the name that such a kind of fault would have: what this suite has no fault for is shown too."""
PROVING_ONLY = ("edit_answer",)


@dataclass(frozen=True)
class FaultRow:
    """One fault, with what its cases came to on each target."""

    kind: str
    text: str
    cells: tuple[Cell, ...]
    cases: tuple[str, ...]


def survival(columns: Sequence[Column]) -> list[FaultRow]:
    """A row for each fault that a case of these runs was met with, those of most cases first."""
    cases = _cases_by_fault(columns)
    rows = [
        FaultRow(kind, text, tuple(_cell(column, names) for column in columns), tuple(names))
        for (kind, text), names in cases.items()
    ]
    return sorted(rows, key=lambda row: (list(WORDS).index(row.kind) if row.kind in WORDS else len(WORDS), row.text))


def never_tried(rows: Sequence[FaultRow], kinds: Sequence[str]) -> list[str]:
    """Faults of this suite that no case of these runs was met with, and those that it has not at all."""
    met = {row.kind for row in rows}
    unused = [_text(kind, "a node", "requests") for kind in kinds if kind not in met and kind not in PROVING_ONLY]
    return [*(text for kind, text in NOT_PROVOKED.items() if kind not in kinds), *unused]


def _cell(column: Column, names: dict[str, None]) -> Cell:
    met = [column.by_case[name] for name in names if name in column.by_case]
    missing = tuple(name for name in names if name not in column.by_case)
    return Cell(column, tuple((standing_of(result), result) for result in met), missing)


def _cases_by_fault(columns: Sequence[Column]) -> dict[tuple[str, str], dict[str, None]]:
    """(kind, words) -> cases. A schedule is in the results of who met it; what a case needs is known of all."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for column in columns:
        for result in column.by_case.values():
            for fault in faults_of(result):
                found.setdefault(fault, {}).setdefault(result.case)
    trials = {name for names in found.values() for name in names}
    for column in columns:
        for info in column.run.cases:
            if info.trial or info.case in trials:
                continue
            for need, text in BETWEEN_REQUESTS.items():
                if need in info.needs:
                    found.setdefault((need, text), {}).setdefault(info.case)
    return found


def faults_of(result: CaseResult) -> Iterator[tuple[str, str]]:
    """The faults of a case under load, in the words of a reader, each once."""
    try:
        windows = json.loads(result.schedule)["windows"] if result.schedule else []
        told = [(str(window["kind"]), window) for window in windows]
    except (ValueError, KeyError, TypeError):
        return
    yield from dict.fromkeys((kind, _text(kind, _role(window), _apis(window))) for kind, window in told)


def _role(window: dict[str, object]) -> str:
    match = window.get("match")
    where = window.get("target") or (match.get("node") if isinstance(match, dict) else None) or ""
    found = ROLE.match(str(where))
    return ROLES.get(found["role"], found["role"].replace("_", " ")) if found else "a node"


def _apis(window: dict[str, object]) -> str:
    match = window.get("match")
    apis = match.get("api") if isinstance(match, dict) else None
    return " and ".join(map(str, apis)) if isinstance(apis, list) and apis else "all"


def _text(kind: str, role: str, api: str) -> str:
    words = WORDS.get(kind)
    return words.format(role=role, api=api) if words else f"{kind.replace('_', ' ')} at {role}"
