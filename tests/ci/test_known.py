"""--known: what it forgives, what it does not, and that it can only shrink by being right."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import msgspec
import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports.known import KnownFailures, lines_to_record
from brokertrial.ci.reports.tally import Tally
from brokertrial.suites.case import by_id
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.proving.mutation import results as tried
from brokertrial.suites.result import CaseResult, Failure, Reason

TODAY = date(2026, 11, 21)


@pytest.fixture
def failed(results: tuple[CaseResult, ...]) -> CaseResult:
    return next(r for r in results if r.case == "idempotence/lost-ack")


@pytest.fixture
def wrong(results: tuple[CaseResult, ...]) -> CaseResult:
    return next(r for r in results if r.case == "protocol/unknown-tag")


def known(tmp_path: Path, text: str) -> KnownFailures:
    path = tmp_path / "known.toml"
    path.write_text(text, encoding="utf-8")
    names = ["idempotence/lost-ack", "protocol/unknown-tag", "idempotence/lost-request", "claims/transactions"]
    return KnownFailures.read(path, names)


def test_the_lines_that_a_red_run_prints_make_it_green(tmp_path: Path, failed: CaseResult, wrong: CaseResult) -> None:
    text = "\n".join([*lines_to_record(failed), *lines_to_record(wrong)]).replace('reason = ""', 'reason = "BROKER-17"')
    tally = Tally.of([failed, wrong], known(tmp_path, text), TODAY)
    assert (tally.failed, tally.status(ExitStatus.FAILED)) == ([], ExitStatus.PASSED)
    assert "2 known failures" in tally.line()


def test_a_sickness_that_is_known_does_not_make_green_what_it_kept_back(tmp_path: Path, wrong: CaseResult) -> None:
    """The broker is sick after the first case: 200 others were not tried, and nothing else failed."""
    text = "\n".join(lines_to_record(wrong)).replace('reason = ""', 'reason = "BROKER-17"')
    kept_back = Reason("needs", f"needs a target that takes a record, which failed in {wrong.case}")
    rest = CaseResult("a/b", "It MUST.", (), "must", Verdict.NOT_APPLICABLE, kept_back)
    tally = Tally.of([wrong, rest], known(tmp_path, text), TODAY)
    assert (tally.failed, tally.status(ExitStatus.FAILED)) == ([], ExitStatus.INCONCLUSIVE)
    assert "1 case not tried, for the target takes no record" in tally.line()


def test_another_anomaly_in_the_same_case_still_fails(tmp_path: Path, failed: CaseResult) -> None:
    more = (*failed.anomalies, msgspec.structs.replace(failed.anomalies[0], name="lost-write"))
    text = '[[known]]\ncase = "idempotence/lost-ack"\nanomaly = "duplicate"\nreason = "r"\n'
    both = msgspec.structs.replace(failed, anomalies=more)
    tally = Tally.of([both], known(tmp_path, text), TODAY)
    assert (tally.failed, tally.status(ExitStatus.FAILED)) == ([both], ExitStatus.FAILED)


@pytest.mark.parametrize("expires", ["2026-11-21", "2026-11-20"])
def test_an_expired_entry_fails_the_run_and_names_its_line(tmp_path: Path, failed: CaseResult, expires: str) -> None:
    entry = f'case = "idempotence/lost-ack"\nanomaly = "duplicate"\nreason = "r"\nexpires = {expires}\n'
    text = "# ours\n\n[[known]]\n" + entry
    entries = known(tmp_path, text)
    tally = Tally.of([failed], entries, TODAY)
    assert tally.status(ExitStatus.FAILED) == ExitStatus.FAILED
    assert entries.sentence(tally.stale[0]).startswith(f"{tmp_path / 'known.toml'}:3: remove the entry")


def test_an_entry_that_expires_tomorrow_still_holds(tmp_path: Path, failed: CaseResult) -> None:
    text = '[[known]]\ncase = "idempotence/lost-ack"\nanomaly = "duplicate"\nreason = "r"\nexpires = 2026-11-22\n'
    assert Tally.of([failed], known(tmp_path, text), TODAY).status(ExitStatus.FAILED) == ExitStatus.PASSED


def test_an_entry_whose_case_passed_fails_the_run(tmp_path: Path, failed: CaseResult) -> None:
    passed = msgspec.structs.replace(failed, verdict=Verdict.PASS, anomalies=(), reason=None)
    text = '[[known]]\ncase = "idempotence/lost-ack"\nanomaly = "duplicate"\nreason = "r"\n'
    tally = Tally.of([passed], known(tmp_path, text), TODAY)
    assert tally.status(ExitStatus.PASSED) == ExitStatus.FAILED
    assert tally.stale[0].why == "the case passes now"


def test_an_entry_of_a_claim_that_is_kept_fails_the_run(tmp_path: Path, wrong: CaseResult) -> None:
    broken = msgspec.structs.replace(wrong, case="claims/transactions", reason=Reason("claim", "not offered"))
    entries = known(tmp_path, "\n".join(lines_to_record(broken)).replace('reason = ""', 'reason = "r"'))
    passed = msgspec.structs.replace(wrong, verdict=Verdict.PASS, reason=None)
    assert Tally.of([broken, passed], entries, TODAY).status(ExitStatus.FAILED) == ExitStatus.PASSED
    assert [stale.why for stale in Tally.of([passed], entries, TODAY).stale] == ["the claimed feature is supported now"]
    assert Tally.of([], entries, TODAY).stale == []


def test_an_entry_of_a_case_that_was_not_run_is_left_alone(tmp_path: Path, wrong: CaseResult) -> None:
    passed = msgspec.structs.replace(wrong, verdict=Verdict.PASS, reason=None)
    text = '[[known]]\ncase = "idempotence/lost-ack"\nanomaly = "duplicate"\nreason = "r"\n'
    assert Tally.of([passed], known(tmp_path, text), TODAY).status(ExitStatus.PASSED) == ExitStatus.PASSED


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        ('[[known]]\ncase = "idempotence/lost-akc"\nanomaly = "a"\nreason = "r"\n', "no case", "idempotence/lost-ack"),
        ('[[known]]\ncase = "idempotence/lost-ack"\nanomoly = "a"\nreason = "r"\n', "unknown key `anomoly`", "anomaly"),
        ('[[known]]\ncase = "idempotence/lost-ack"\nreason = "r"\n', "name the `failure`", ""),
        (
            '[[known]]\ncase = "idempotence/lost-ack"\nstatement = "A batch MUST be"\nreason = "r"\n',
            "`statement` forgave whatever went wrong",
            "known-failures.toml",
        ),
        ('[[known]]\ncase = "idempotence/lost-ack"\nanomaly = "a"\n', "needs a `reason`", ""),
        ('[[known]]\ncase = "idempotence/lost-ack"\nanomaly = "a"\nreason = "r"\nexpires = "x"\n', "is a day", ""),
        ("[[known]\n", "not valid TOML", ""),
        ("[known_failures]\n", "unknown table", ""),
        ('known = [{case = "idempotence/lost-ack", anomaly = "a", reason = "r"}]\n', "table of its own", ""),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_line(tmp_path: Path, text: str, sentence: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        known(tmp_path, text)
    assert sentence in caught.value.sentence
    assert hint in caught.value.hint


def entry(case: str, failure: str) -> str:
    return f"[[known]]\ncase = {json.dumps(case)}\nfailure = {json.dumps(failure)}\nreason = 'r'\n"


def test_a_case_that_fails_in_two_ways_needs_two_entries(tmp_path: Path, wrong: CaseResult) -> None:
    one, other = Failure("statement:Metadata:it is #", "it is 3"), Failure("statement:Fetch:it is gone", "it is gone")
    both = msgspec.structs.replace(wrong, failures=(one, other))
    first = entry(wrong.case, one.signature)
    forgiving = known(tmp_path, first)
    assert Tally.of([both], forgiving, TODAY).failed == [both]
    assert forgiving.unknown(both, TODAY) == [other]
    assert Tally.of([both], known(tmp_path, first + entry(wrong.case, other.signature)), TODAY).known == [both]


@pytest.mark.parametrize("word", ["anomaly", "failure"])
@pytest.mark.parametrize("kind", ["died", "no-answer", "protocol"])
def test_a_kind_that_was_named_as_an_anomaly_is_still_known(
    tmp_path: Path, wrong: CaseResult, kind: str, word: str
) -> None:
    worse = msgspec.structs.replace(
        wrong, reason=Reason(kind, "Fetch v12: it is broken"), failures=(Failure(f"{kind}:Fetch", "it is broken"),)
    )
    told = f'[[known]]\ncase = "{wrong.case}"\n{word} = "{kind}"\nreason = "r"\n'
    assert Tally.of([worse], known(tmp_path, told), TODAY).status(ExitStatus.FAILED) == ExitStatus.PASSED
    assert Tally.of([wrong], known(tmp_path, told), TODAY).failed == [wrong]


def test_a_wrong_offset_that_is_known_forgives_no_acknowledged_record_that_is_gone(tmp_path: Path) -> None:
    """M07a names an offset that is too high, M01a never writes what it acknowledged: both fail the same case."""
    case = by_id()["produce/base-offset"]
    wrong, lost = (tried(f"reference?mutant={bug}", [case], 1)[0] for bug in ("M07a", "M01a"))
    path = tmp_path / "known.toml"
    path.write_text("\n".join(lines_to_record(wrong)).replace('reason = ""', 'reason = "BROKER-1"'), encoding="utf-8")
    entries = KnownFailures.read(path, [case.id])
    assert Tally.of([wrong], entries, TODAY).status(ExitStatus.FAILED) == ExitStatus.PASSED
    assert Tally.of([lost], entries, TODAY).failed == [lost]
    assert Tally.of([tried("reference?mutant=M07a", [case], 7)[0]], entries, TODAY).failed == []
