"""What a failure of the closing look is about: the case itself had passed, and its own guarantees were kept.

idempotence/retry-is-written-once  the closing look at t1-0: DescribeProducers v0: producer 7 is shown with nothing
accuses of txn-026 (DescribeProducers agrees with the real state), not of idem-002 (a retry is not appended again)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.closing_look.look import PART
from brokertrial.suites.result import CaseResult, Failure

STATEMENT = "After a case, the answers about what it made MUST agree with each other and with what was acknowledged."
BY_API: dict[str, tuple[str, ...]] = {
    "Fetch": ("fetch-015",),
    "ListOffsets": ("offs-001", "offs-002"),
    "OffsetForLeaderEpoch": ("repl-008",),
    "DescribeProducers": ("txn-026",),
    "DescribeTransactions": ("txn-026",),
    "ListTransactions": ("txn-026",),
    "DescribeGroups": ("grp-020",),
    "ListGroups": ("grp-020",),
    "OffsetFetch": ("cmt-001", "cmt-016"),
    "JoinGroup": ("grp-006",),
    "SyncGroup": ("grp-009",),
    "Heartbeat": ("grp-009",),
    "LeaveGroup": ("grp-009",),
    "OffsetCommit": ("grp-009",),
    "InitProducerId": ("txn-007",),
    "AddPartitionsToTxn": ("txn-029",),
    "AddOffsetsToTxn": ("txn-029",),
    "TxnOffsetCommit": ("txn-015",),
    "EndTxn": ("txn-010",),
}
BY_WORDS: dict[str, tuple[str, ...]] = {
    "is stable up to": ("txn-004",),
    "there is nothing between": ("ord-004",),
    "the checksum of": ("rec-005",),
    "what is asked for once": ("err-008",),
    "the group is": ("grp-020",),
    "the transaction is": ("txn-026",),
    "was committed last": ("cmt-001",),
}
BY_SUBJECT: dict[str, tuple[str, ...]] = {
    "the answers": ("err-008",),
    "group ": ("cmt-001", "grp-020"),
    "transactional id ": ("txn-026",),
}
OF_PARTITIONS = ("fetch-015", "offs-001")
API = re.compile(r"^\w+:(\w+)[.:]")


def of_its_own(result: CaseResult) -> CaseResult:
    """The same result; where nothing but the closing look failed, with the guarantees that the look found broken."""
    looked = [failure for failure in result.failures if failure.sentence.startswith(PART)]
    if result.verdict is not Verdict.FAIL or result.anomalies or not looked or len(looked) < len(result.failures):
        return result
    return replace(result, statement=STATEMENT, guarantees=broken_by(looked))


def broken_by(failures: Sequence[Failure]) -> tuple[str, ...]:
    """The guarantees that these failures of the look are about, each once."""
    return tuple(dict.fromkeys(name for failure in failures for name in _of(failure)))


def _of(failure: Failure) -> tuple[str, ...]:
    for words, names in BY_WORDS.items():
        if words in failure.sentence:
            return names
    api = API.match(failure.signature)
    if api is not None and (names := BY_API.get(api[1], ())):
        return names
    subject = failure.sentence.removeprefix(PART).lstrip()
    return next((names for begins, names in BY_SUBJECT.items() if subject.startswith(begins)), OF_PARTITIONS)
