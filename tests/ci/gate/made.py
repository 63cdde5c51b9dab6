"""Results and entries for the tests of the gate, one line each."""

from __future__ import annotations

from datetime import date

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports.known import KnownFailure, KnownFailures
from brokertrial.suites.result import CaseResult, Failure, KafkaProof, Reason

TODAY = date(2026, 11, 25)
YESTERDAY, TOMORROW = date(2026, 11, 24), date(2026, 11, 26)
PROVEN = KafkaProof(("Apache Kafka 4.4.0, one node (2026-11-20)",))


def result(case: str, verdict: Verdict, kind: str = "", level: str = "must", signature: str = "wrong") -> CaseResult:
    """One result. A failure has this signature; anything but a pass has a reason of this kind."""
    failed = verdict is Verdict.FAIL
    reason = None if verdict is Verdict.PASS else Reason(kind or ("statement" if failed else "no-hit"), "because")
    failures = (Failure(signature, "it is wrong"),) if failed else ()
    return CaseResult(case, "It MUST.", ("offs-002",), level, verdict, reason, failures=failures, proof=PROVEN)


def passed(case: str) -> CaseResult:
    return result(case, Verdict.PASS)


def failed(case: str, signature: str = "wrong", level: str = "must") -> CaseResult:
    return result(case, Verdict.FAIL, level=level, signature=signature)


def unsure(case: str, kind: str = "no-hit") -> CaseResult:
    return result(case, Verdict.INCONCLUSIVE, kind)


def absent(case: str, kind: str = "not-offered") -> CaseResult:
    return result(case, Verdict.NOT_APPLICABLE, kind)


def known(*entries: tuple[str, str] | tuple[str, str, date]) -> KnownFailures:
    """A baseline of (case, failure) or (case, failure, day of expiry)."""
    made = [
        KnownFailure(case, failure, "BROKER-17", expires=day[0] if day else None, line=6 * number + 1)
        for number, (case, failure, *day) in enumerate(entries)
    ]
    return KnownFailures("known.toml", tuple(made))
