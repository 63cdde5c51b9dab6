"""Failures by cause: what belongs together, what is worst, and what a reader sees first."""

from __future__ import annotations

import msgspec
import pytest

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.check import all_checks
from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports import report, summary
from brokertrial.ci.reports.case_views import CaseViews, worst_first
from brokertrial.ci.reports.causes import HarmKind, by_harm, causes
from brokertrial.ci.reports.run_state import RunState
from brokertrial.suites.events import CaseFinished, RunEvent, RunFinished
from brokertrial.suites.result import CaseResult, Failure, Reason


def failed(case: str, *failures: Failure, level: str = "must", anomalies: tuple[Anomaly, ...] = ()) -> CaseResult:
    reason = Reason(failures[0].signature.partition(":")[0], failures[0].sentence)
    return CaseResult(
        case, "It MUST.", ("prod-001",), level, Verdict.FAIL, reason, failures=failures, anomalies=anomalies
    )


def silent(case: str, api: str, step: str = "") -> CaseResult:
    return failed(case, Failure(f"no-answer:{api}", f"{api} v4 got no answer from node 1", step=step))


def false(case: str, field: str, observed: str, wanted: str, **more: object) -> CaseResult:
    signature = f"statement:{field}:is {observed}; it must {wanted}"
    return failed(case, Failure(signature, f"{field} is {observed} (3); it must {wanted}"), **more)


def anomaly(name: str, **fields: object) -> Anomaly:
    plain = {"guarantee": "prod-002", "topic": "t", "partition": 0, "offsets": (1,), "values": (1,), "operations": (1,)}
    told = {"sentence": f"{name} here.", "strength": "durability", "attribution": "broker", "harms": True}
    return Anomaly(name=name, **{**plain, **told, **fields})


def anomalous(case: str, *found: Anomaly) -> CaseResult:
    return failed(case, *(Failure(f"anomaly:{one.name}", one.sentence) for one in found), anomalies=found)


def test_an_api_that_stays_silent_is_one_cause_whatever_the_cases_are_about() -> None:
    results = [silent(f"admin/case-{number}", "DescribeConfigs") for number in range(25)]
    results.append(silent("groups/bounds", "DescribeConfigs", step="settings: no-answer"))
    results.append(silent("fetch/other", "Fetch"))

    found = causes(results)

    assert [(cause.count, cause.title) for cause in found] == [
        ("26 cases", "DescribeConfigs: no response, or the connection was closed"),
        ("1 case", "Fetch v4 got no answer from node 1"),
    ]


def test_one_error_in_one_field_is_one_cause_whatever_was_asked_for() -> None:
    field = "OffsetFetch.groups.error_code"
    results = [
        false("a/one", field, "GROUP_ID_NOT_FOUND", "succeed"),
        false("a/two", field, "GROUP_ID_NOT_FOUND", "be COORDINATOR_NOT_AVAILABLE"),
        false("a/three", field, "UNKNOWN_MEMBER_ID", "succeed"),
        failed("a/four", Failure("statement:Produce.error_code:it succeeded; it must be refused with A_CODE", "s")),
        failed("a/five", Failure("statement:Produce.error_code:it succeeded; it must be refused with B_CODE", "s")),
        failed("a/six", Failure("statement:CreateTopics.topics:# is NONE; it must be A_CODE", "s")),
        failed("a/seven", Failure("statement:CreateTopics.topics:# is NONE; it must be B_CODE", "s")),
    ]

    found = causes(results)

    assert [[result.case for result in cause.results] for cause in found] == [
        ["a/one", "a/two"], ["a/three"], ["a/four"], ["a/five"], ["a/six"], ["a/seven"],
    ]  # fmt: skip
    assert found[0].title == f"{field} is GROUP_ID_NOT_FOUND (3)"


def test_loss_comes_first_then_duplicates_disorder_isolation_crashes_and_wrong_codes_last() -> None:
    results = [
        false("a/codes", "Fetch.error_code", "SOME_ERROR", "succeed"),
        silent("a/silent", "Fetch"),
        failed("a/died", Failure("died", "the target died of Fetch v13")),
        anomalous("a/stale", anomaly("stale-read", harms=False, strength="recency")),
        anomalous("a/isolation", anomaly("aborted-read", guarantee="txn-002")),
        anomalous("a/order", anomaly("nonmonotonic-send", strength="order")),
        anomalous("a/duplicate", anomaly("duplicate", strength="integrity")),
        anomalous("a/lost", anomaly("lost-write")),
        failed("a/lost-too", Failure("harm:lost-write", "the record was acknowledged and is gone", harms=True)),
    ]

    found = causes(results)

    assert [(cause.harm.name, [result.case for result in cause.results]) for cause in found] == [
        ("LOSS", ["a/lost", "a/lost-too"]),
        ("DUPLICATION", ["a/duplicate"]),
        ("DISORDER", ["a/order"]),
        ("ISOLATION", ["a/isolation"]),
        ("UNAVAILABLE", ["a/died"]),
        ("INCONSISTENT", ["a/stale"]),
        ("UNUSABLE", ["a/silent"]),
        ("WRONG", ["a/codes"]),
    ]
    assert found[0].title == "lost-write: an acknowledged record that readers passed by"
    assert [title for title, _ in by_harm(found)][:2] == ["Lost or altered records", "Duplicated records"]


def test_a_case_stands_under_its_worst_failure_and_is_named_by_the_others() -> None:
    both = anomalous("a/both", anomaly("stale-read", harms=False), anomaly("lost-write"))
    found = causes([anomalous("a/stale", anomaly("stale-read", harms=False)), both])

    assert [(cause.harm, [r.case for r in cause.results], [r.case for r in cause.also]) for cause in found] == [
        (HarmKind.LOSS, ["a/both"], []),
        (HarmKind.INCONSISTENT, ["a/stale"], ["a/both"]),
    ]
    assert [one.name for one in worst_first(both.anomalies)] == ["lost-write", "stale-read"]


def test_what_a_client_did_is_not_what_a_card_leads_with() -> None:
    clients = anomaly("lost-write", attribution="client")
    assert worst_first([clients, anomaly("stale-read", harms=False)])[0].name == "stale-read"


def test_a_cause_names_the_cases_that_it_kept_from_being_judged() -> None:
    owner = false("commits/round-trip", "OffsetFetch.groups.error_code", "GROUP_ID_NOT_FOUND", "succeed")
    sentence = "needs a committed offset that is returned, which failed in commits/round-trip: OffsetFetch v10"
    waiting = CaseResult("groups/x", "s", (), "must", Verdict.NOT_APPLICABLE, Reason("needs", sentence))
    other = msgspec.structs.replace(waiting, reason=Reason("needs", sentence.replace("round-trip", "round-trip-2")))

    assert causes([owner], [owner, waiting, other])[0].blocked == (waiting,)


@pytest.mark.parametrize("name", sorted(check.name for check in all_checks().values() if check.harms))
def test_every_check_of_harm_leads_before_wrong_codes(name: str) -> None:
    check = all_checks()[name]
    found = anomaly(name.rpartition("/")[2], guarantee=check.guarantee, strength=check.strength)

    assert causes([anomalous("a/b", found)])[0].harm <= HarmKind.ISOLATION


def test_the_report_the_summary_and_the_index_have_one_order(state: RunState) -> None:
    state.on(CaseFinished(anomalous("fetch/lost", anomaly("lost-write"))))
    page, text = report.render(state, CaseViews(state)), summary.render(state)

    for whole in (page[page.index("Causes, most harmful first") :], text[text.index("Causes, most harmful first") :]):
        places = [whole.index(words) for words in ("Lost or altered", "Duplicated", "Wrong responses", "Warnings")]
        assert places == sorted(places)
    assert page.index('id="fetch.lost"') < page.index('id="idempotence.lost-ack"')


def test_a_report_is_there_from_the_first_failure_on(run_folder, told: list[RunEvent]) -> None:
    now = [100.0]
    state = RunState(run_folder)
    writer = report.ReportWriter(state, lambda: now[0])
    written = []
    for event in told:
        state.on(event)
        writer.on(event)
        if isinstance(event, CaseFinished):
            path = run_folder / "report.html"
            written.append(path.read_text("utf-8") if path.is_file() else "")
            now[0] += 6.0
        if isinstance(event, RunFinished):
            break
    first, second = written[1], written[2]
    assert written[0] == "", "a case that passed makes no report"
    assert "Failed: 1 case, 1 cause so far" in first and "Minimal counterexample" in first and "not finished" in first
    assert second == first, "not more often than every ten seconds"
    assert "Failed: 2 cases" in (run_folder / "report.html").read_text("utf-8")
