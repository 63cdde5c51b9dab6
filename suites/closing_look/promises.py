"""What a failure of the closing look is about: the case itself had passed, and its own guarantees were kept.

idempotence/retry-is-written-once  the closing look at t1-0: DescribeProducers v0: producer 7 is shown with nothing
accuses of txn-026 (DescribeProducers agrees with the real state), not of idem-002 (a retry is not appended again)

The look names the guarantee where it finds the failure (`breaks`).
"""

from __future__ import annotations

from msgspec.structs import replace

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.result import CaseResult

STATEMENT = "After a case, the answers about what it made MUST agree with each other and with what was acknowledged."


def of_its_own(result: CaseResult) -> CaseResult:
    """The same result; where nothing but the closing look failed, with the guarantees that the look found broken."""
    if result.verdict is not Verdict.FAIL or result.anomalies or not all(one.guarantees for one in result.failures):
        return result
    broken = dict.fromkeys(name for failure in result.failures for name in failure.guarantees)
    return replace(result, statement=STATEMENT, guarantees=tuple(broken)) if broken else result
