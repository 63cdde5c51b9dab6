"""What a differential run covered, as a page: each API, the error codes that Apache Kafka gave, and those it never did.

The codes that an API may give are those that Kafka documents beside its messages (documented.toml).
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.differential.sequence import Outcome

DOCUMENTED = Path(__file__).with_name("documented.toml")
#: What release 1 needs of a broker: each of these is to be asked at least so often.
TIER_M = frozenset(
    {
        "Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup",
        "Heartbeat", "LeaveGroup", "SyncGroup", "DescribeGroups", "ListGroups", "ApiVersions", "CreateTopics",
        "DeleteTopics", "DeleteRecords", "InitProducerId", "OffsetForLeaderEpoch", "AddPartitionsToTxn",
        "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit", "DescribeConfigs", "IncrementalAlterConfigs",
        "CreatePartitions", "DeleteGroups", "DescribeCluster", "DescribeProducers", "DescribeTransactions",
        "ListTransactions", "ConsumerGroupHeartbeat", "ConsumerGroupDescribe",
    }
)  # fmt: skip
LEAST = 500
#: Why a code cannot come up on one node that nothing disturbs, by what its name holds.
OUT_OF_REACH = {
    "AUTHORIZATION": "no authorizer",
    "COORDINATOR_NOT_AVAILABLE": "passing",
    "COORDINATOR_LOAD": "passing",
    "NOT_COORDINATOR": "another node",
    "NOT_LEADER": "another node",
    "NOT_CONTROLLER": "another node",
    "REPLICA": "another node",
    "LEADER_NOT_AVAILABLE": "an election",
    "OFFSET_NOT_AVAILABLE": "an election",
    "STORAGE": "a failing disk",
    "SERVER_ERROR": "a failure",
    "TIMED_OUT": "a failure",
    "MESSAGE_FORMAT": "an older format",
    "DELETION_DISABLED": "a broker setting",
    "POLICY": "a broker setting",
    "GROUP_MAX_SIZE": "a broker setting",
}


@dataclass(slots=True)
class Covered:
    """Adds up the outcomes of sequences; `version` is that of the judge, `broken` counts those that broke off."""

    version: str
    sequences: int = 0
    broken: int = 0
    valid: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """One more sequence."""
        self.sequences += 1
        self.valid += outcome.valid
        self.asked.update(outcome.asked)
        self.seen.update(outcome.seen)

    @property
    def share(self) -> float:
        """Requests that were answered without an error, in percent."""
        return 100 * self.valid / max(1, self.asked.total())

    def progress(self, seconds: float) -> str:
        return f"{self.sequences} sequences, {self.asked.total()} requests, {seconds:.0f} s:"

    def page(self, differences: Mapping[str, int]) -> str:
        """Markdown: the figures, then a line for each API."""
        return "\n".join([*self._head(differences), *self._lines(), ""])

    def _head(self, differences: Mapping[str, int]) -> Iterator[str]:
        rare = sorted(api for api in TIER_M if self.asked[api] < LEAST)
        yield f"# Requests put alike to Apache Kafka {self.version} and to the bundled broker"
        yield ""
        yield "Written by `python -m tests.differential --table docs/differential.md`; not edited by hand."
        yield ""
        yield f"- {self.sequences} random sequences, {self.asked.total()} requests to each broker."
        yield f"- Sequences that broke off, for want of an answer, and count for nothing: {self.broken}."
        yield f"- {self.share:.0f} % of the requests were answered without an error."
        yield f"- Sequences that ended in a difference: {sum(differences.values())}."
        yield from (f"  - {count} of `{kind}`" for kind, count in sorted(differences.items()))
        yield f"- APIs that release 1 needs and that were asked fewer than {LEAST} times: {', '.join(rare) or 'none'}."
        yield ""
        yield "Bold: an API that release 1 needs. A code is counted once for each answer that holds it. The last column"
        yield "holds what Kafka documents for the API and never answered here, with what it would take; *passing* codes"
        yield "come while a coordinator is being found, or loads."
        yield ""

    def _lines(self) -> Iterator[str]:
        documented: dict[str, list[str]] = tomllib.loads(DOCUMENTED.read_text("utf-8"))
        yield "| API | requests | codes seen | documented, never seen |"
        yield "|---|---:|---|---|"
        for api in sorted(TIER_M | self.asked.keys()):
            name = f"**{api}**" if api in TIER_M else api
            given = {code: count for (of, code), count in self.seen.items() if of == api}
            codes = ", ".join(f"{code} {count}" for code, count in sorted(given.items()))
            yield f"| {name} | {self.asked[api]} | {codes} | {_missing(documented.get(api), given)} |"


def _missing(documented: list[str] | None, given: Mapping[str, int]) -> str:
    if documented is None:
        return "(Kafka lists none)"
    return ", ".join(f"{code}{_why(code)}" for code in documented if code not in given)


def _why(code: str) -> str:
    reasons = [reason for part, reason in OUT_OF_REACH.items() if part in code]
    return f" ({reasons[0]})" if reasons else ""
