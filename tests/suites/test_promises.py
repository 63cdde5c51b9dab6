"""A claim that no API shows is broken by its cases: when the broker lets none of them be decided."""

from __future__ import annotations

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.result import CaseResult, Reason
from brokertrial.suites.running.claims import unkept_promises


def results(*verdicts: tuple[str, Verdict, str]) -> list[CaseResult]:
    return [
        CaseResult(case, "", (), "must", verdict, Reason(kind, f"{kind}: log.cleaner.backoff.ms") if kind else None)
        for case, verdict, kind in verdicts
    ]


def broken(
    *verdicts: tuple[str, Verdict, str], required: tuple[str, ...] = (), chosen: tuple[str, ...] = ()
) -> set[str]:
    found = unkept_promises(("compaction", "retention"), required, results(*verdicts), chosen)
    assert all(result.verdict is Verdict.FAIL and result.failures for result in found)
    return {result.case for result in found}


ABSENT = Verdict.NOT_APPLICABLE
ONE, OTHER = "compaction/tombstones", "compaction/latest-of-every-key"


@pytest.mark.parametrize("kind", ["unsupported", "too-slow-here", "cluster-setting", "not-offered"])
def test_a_broker_that_lets_no_case_be_decided_breaks_its_claim(kind: str) -> None:
    assert broken((ONE, ABSENT, kind), (OTHER, ABSENT, kind)) == {"claims/compaction"}
    assert broken((ONE, ABSENT, kind), required=("compaction",)) == {"claims/compaction", "requires/compaction"}


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE])
def test_one_that_came_to_its_end_keeps_it(verdict: Verdict) -> None:
    assert broken((ONE, ABSENT, "unsupported"), (OTHER, verdict, "")) == set()


@pytest.mark.parametrize("kind", ["missing-capability", "disclaimed", "no-permission"])
def test_what_is_not_the_brokers_doing_breaks_nothing(kind: str) -> None:
    assert broken((ONE, ABSENT, kind), (OTHER, ABSENT, kind)) == set()


def test_a_case_that_passes_where_nothing_is_ever_deleted_shows_no_retention() -> None:
    told = results(("retention/off", Verdict.PASS, ""), ("retention/by-time", ABSENT, "unsupported"))
    assert [result.case for result in unkept_promises(("retention",), (), told, ())] == ["claims/retention"]


def test_a_feature_that_its_apis_show_is_not_measured_by_what_a_case_needs_besides() -> None:
    told = results(("transactions/aborted-list", ABSENT, "not-offered"))
    assert unkept_promises(("transactions",), ("transactions",), told, ()) == []


def test_a_setting_of_the_users_own_choice_breaks_nothing() -> None:
    assert broken((ONE, ABSENT, "too-slow-here"), chosen=("log.cleaner.backoff.ms",)) == set()
    assert broken((ONE, ABSENT, "too-slow-here"), chosen=("message.max.bytes",)) == {"claims/compaction"}
