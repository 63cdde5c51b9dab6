"""What a failure accuses of: what it breaks alone, where that is known, and not all that its case is about.

idempotence/retry-is-written-once  the closing look at t1-0: DescribeProducers v0: producer 7 is shown with nothing
accuses of txn-026 (DescribeProducers agrees with the real state), not of idem-002 (a retry is not appended again)

The closing look, and cases that are about much, name the guarantees where they find the failure (`breaks`).
"""

from __future__ import annotations

from msgspec.structs import replace

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.closing_look.look import PART
from brokertrial.suites.result import CaseResult, Failure

HARMS = {
    "harm:aborted-read": "txn-002",
    "harm:altered": "ord-005",
    "harm:duplicate": "idem-006",
    "harm:lost-write": "prod-002",
    "harm:reordered": "ord-002",
}
"""What harmed records break, which are found beside what a case looks for (suites/probe/harm.py)."""
STATEMENT = "After a case, the answers about what it made MUST agree with each other and with what was acknowledged."


def of_its_own(result: CaseResult) -> CaseResult:
    """The same result; where each failure says what it breaks, with these guarantees.

    Where the closing look alone failed, the case itself had passed: then the statement is not the case's either.
    """
    named = [failure.guarantees or _harmed(failure) for failure in result.failures]
    said = any(failure.guarantees for failure in result.failures)
    if result.verdict is not Verdict.FAIL or result.anomalies or not said or not all(named):
        return result
    broken = dict.fromkeys(name for names in named for name in names)
    looked = all(failure.sentence.startswith(PART) for failure in result.failures)
    return replace(result, statement=STATEMENT if looked else result.statement, guarantees=tuple(broken))


def _harmed(failure: Failure) -> tuple[str, ...]:
    return (HARMS[failure.signature],) if failure.signature in HARMS else ()
