"""The result of a case is made in one place."""

from __future__ import annotations

import re
from pathlib import Path

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import by_id
from brokertrial.suites.outcome import failed
from brokertrial.suites.result import CaseResult, Evidence

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ("ci", "suites", "checkers", "histories", "faults", "spark_analysis", "src")


def test_results_are_made_by_one_function() -> None:
    made = re.compile(r"(?<!class )\bCaseResult\(")
    files = [path for folder in SHIPPED for path in (ROOT / folder).glob("**/*.py")]
    assert len(files) > 300
    assert [str(path) for path in files if made.search(path.read_text(encoding="utf-8"))] == []
    assert made.search("return CaseResult(case=case.id)"), "what the search finds"


def test_a_result_says_what_the_outcome_says() -> None:
    case = by_id()["offsets/ends"]
    outcome = failed("statement", "the end must be 3; it is 4", (Evidence("answer", "end 4"),))
    result = CaseResult.of(case, outcome, started_ns=5, ended_ns=1_000_000_005, facts={"latency_ms": 1.5})
    assert (result.case, result.level, result.verdict) == ("offsets/ends", case.level, Verdict.FAIL)
    assert (result.reason, result.evidence, result.failures) == (outcome.reason, outcome.evidence, outcome.failures)
    assert (result.duration_s, result.facts) == (1.0, {"latency_ms": 1.5})
    again = CaseResult.of(case, failed("statement", "the end must be 3; it is 5"), level="should")
    assert result.judged_again(again).reason == again.reason
    assert result.judged_again(again).level == case.level, "what it may accuse at was decided when it was run"
