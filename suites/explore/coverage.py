"""What an exploration reached, by API, and which documented error codes it never did.

The codes that an API may give are those that Kafka documents beside its messages (documented.toml).
"""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DOCUMENTED = Path(__file__).with_name("documented.toml")
#: Why a code cannot come up on one node that nothing disturbs, by what its name holds.
OUT_OF_REACH = {
    "AUTHORIZATION": "needs an authorizer",
    "COORDINATOR_NOT_AVAILABLE": "transient",
    "COORDINATOR_LOAD": "transient",
    "NOT_COORDINATOR": "needs another node",
    "NOT_LEADER": "needs another node",
    "NOT_CONTROLLER": "needs another node",
    "REPLICA": "needs another node",
    "LEADER_NOT_AVAILABLE": "needs an election",
    "OFFSET_NOT_AVAILABLE": "needs an election",
    "STORAGE": "needs a failing disk",
    "SERVER_ERROR": "needs a failure",
    "TIMED_OUT": "needs a failure",
    "MESSAGE_FORMAT": "needs an older format",
    "DELETION_DISABLED": "needs a broker setting",
    "POLICY": "needs a broker setting",
    "GROUP_MAX_SIZE": "needs a broker setting",
}
Reached = Iterable[tuple[str, int, str, str, int]]


@dataclass(frozen=True, slots=True)
class ApiRow:
    """What was asked of one API, in which of the versions that both offer, and what it was answered."""

    api: str
    versions: str
    requests: int
    codes: tuple[tuple[str, int], ...]


def api_rows(reached: Reached, ranges: Mapping[str, tuple[int, int]]) -> list[ApiRow]:
    """A row an API that both offer, also for one that was never asked."""
    asked: dict[str, Counter[int]] = defaultdict(Counter)
    codes: dict[str, Counter[str]] = defaultdict(Counter)
    for api, version, code, _, count in reached:
        asked[api][version] += count
        codes[api][code] += count
    return [
        ApiRow(api, _versions(asked[api], *ranges[api]), asked[api].total(), tuple(codes[api].most_common()))
        for api in sorted(ranges)
    ]


def never_reached(reached: Reached) -> dict[str, list[str]]:
    """Documented error codes that no answer held, by API, with what they would take where that is known."""
    seen = {(api, code) for api, _, code, _, _ in reached}
    found = {
        api: [f"{code}{_why(code)}" for code in sorted(set(codes)) if (api, code) not in seen]
        for api, codes in documented().items()
    }
    return {api: codes for api, codes in found.items() if codes}


@cache
def documented() -> Mapping[str, list[str]]:
    """The error codes that Kafka documents, by API."""
    return tomllib.loads(DOCUMENTED.read_text("utf-8"))


def _versions(asked: Mapping[int, int], least: int, most: int) -> str:
    """The versions offered, and those of them that were not asked."""
    missing = [str(version) for version in range(least, most + 1) if version not in asked]
    return f"{least} to {most}" + (f" (never {', '.join(missing)})" if missing else "")


def _why(code: str) -> str:
    reasons = [reason for part, reason in OUT_OF_REACH.items() if part in code]
    return f" ({reasons[0]})" if reasons else ""
