"""The files that a gate leaves: each is what the CI system that reads it asks for."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifLog

from brokertrial.ci.gate import files, github
from brokertrial.ci.gate.files import badge, badge_picture, code_quality, decision, junit, sarif, summary
from brokertrial.ci.gate.files.annotations import MOST
from brokertrial.ci.gate.files.annotations import render as annotated
from brokertrial.ci.gate.gated import Gated
from brokertrial.ci.gate.policy import Policy
from brokertrial.ci.gate.repository import path_in_repository
from brokertrial.ci.reports.known import KnownFailures
from brokertrial.suites.result import Failure
from tests.ci.gate.conftest import gated
from tests.ci.gate.made import YESTERDAY, failed, known, passed

WORKFLOW_COMMAND = re.compile(
    r"::(error|warning|notice) (?:file=[^,:]+,line=\d+,)?title=[^:,\n]+(?:: )?[^:\n]*::[^\n]+"
)


@pytest.fixture(params=["red", "green", "not_ready"])
def any_gate(request: pytest.FixtureRequest) -> Gated:
    found: Gated = request.getfixturevalue(request.param)
    return found


def test_every_file_is_written_whatever_came_of_it(any_gate: Gated, tmp_path: Path) -> None:
    names = {path.name for path in files.write(any_gate, tmp_path / "gate")}
    assert names == {
        "annotations.txt", "badge.json", "badge.svg", "brokertrial.sarif", "gate.json",
        "gl-code-quality-report.json", "junit.xml", "summary.md",
    }  # fmt: skip


def test_sarif_is_sarif(any_gate: Gated) -> None:
    SarifLog.model_validate_json(sarif.render(any_gate))


def test_the_schema_of_sarif_refuses_what_is_none(red: Gated) -> None:
    with pytest.raises(ValueError, match="ruleIdx"):
        SarifLog.model_validate_json(sarif.render(red).replace('"ruleIndex"', '"ruleIdx"'))


def test_sarif_tells_new_from_known(red: Gated) -> None:
    results = {one["properties"]["kind"]: one for one in json.loads(sarif.render(red))["runs"][0]["results"]}
    assert set(results) == {"new", "known", "warning", "inconclusive", "lost", "mended", "expired"}
    assert {kind for kind, one in results.items() if one["level"] == "error"} == {
        "new", "inconclusive", "lost", "mended", "expired",
    }  # fmt: skip
    assert results["known"]["suppressions"][0]["justification"] == "BROKER-17"
    assert results["known"]["baselineState"] == "unchanged"
    place = results["expired"]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("ci/known.toml", 13)


def test_a_finding_keeps_its_fingerprint(red: Gated) -> None:
    prints = [one["fingerprint"] for one in json.loads(code_quality.render(red))]
    assert len(set(prints)) == len(prints)
    assert prints == [one["fingerprint"] for one in json.loads(code_quality.render(red))]


def test_code_quality_has_what_gitlab_asks_for(red: Gated) -> None:
    for one in json.loads(code_quality.render(red)):
        assert set(one) >= {"description", "check_name", "fingerprint", "severity", "location"}
        assert one["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert one["location"]["lines"]["begin"] >= 1 and not one["location"]["path"].startswith(("/", "."))


def test_annotations_are_workflow_commands_one_a_cause(red: Gated) -> None:
    lines = annotated(red).splitlines()
    assert all(WORKFLOW_COMMAND.fullmatch(line) for line in lines), lines
    assert [line for line in lines if "offsets/also-new" in line] == [
        "::error title=new%3A offsets/new::it is wrong%0AAlso in offsets/also-new."
    ]
    assert any(line.startswith("::error file=ci/known.toml,line=7,title=mended") for line in lines)


def test_no_more_annotations_than_github_shows() -> None:
    many = gated([failed(f"offsets/c{n}", f"wrong {n}") for n in range(MOST + 5)], KnownFailures(), Policy())
    lines = annotated(many).splitlines()
    assert len(lines) == MOST and lines[-1].endswith("6 more: see the job summary")


def test_junit_has_a_failure_for_every_red_gate(any_gate: Gated) -> None:
    root = ET.fromstring(junit.render(any_gate))
    assert bool(root.findall(".//failure")) is not any_gate.decision.is_green
    assert any_gate.decision.is_green <= (not root.findall(".//error"))
    for suite in root.iter("testsuite"):
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(name, "0")) == len(suite.findall(f"testcase/{tag}"))


def test_what_is_inconclusive_and_tolerated_is_said(green: Gated) -> None:
    assert "inconclusive, tolerated by the policy" in junit.render(green)
    assert "1 inconclusive case tolerated (the policy allows 1): groups/unsure" in summary.render(green)
    assert "1 inconclusive" in badge.render(green)


def test_the_summary_leads_with_the_decision(red: Gated) -> None:
    text = summary.render(red)
    assert text.startswith("# ❌ brokertrial gate failed: reference\n\nExit status 1")
    assert "2 new failures (1 of them passed in the last good run): offsets/new, offsets/also-new" in text
    for title in ("### New failures: 2", "### Expired entries of the baseline: 1", "### Known failures: 1"):
        assert title in text


def test_the_summary_tells_what_was_otherwise_in_the_last_good_run() -> None:
    last = [passed("offsets/a"), failed("offsets/b", "another"), passed("offsets/c")]
    text = summary.render(gated([failed("offsets/a"), failed("offsets/b")], known(), Policy(), last))
    rows = [line for line in text.splitlines() if line.startswith("| `offsets/")]
    assert [row.split(" | ")[-1] for row in rows] == ["broken |", "failed then |"]


def test_what_is_long_is_cut_and_its_reason_is_not() -> None:
    long = msgspec.structs.replace(failed("offsets/a"), failures=(Failure("wrong", "word " * 200),))
    text = summary.render(gated([long, passed("offsets/b")], known(("offsets/a", "wrong")), Policy()))
    row = next(line for line in text.splitlines() if line.startswith("| `offsets/a`"))
    assert len(row) < 250 and " word ... (BROKER-17) |" in row


def test_what_is_no_failure_is_said_in_one_sentence(red: Gated) -> None:
    told = {one["kind"]: one["sentence"] for one in json.loads(decision.render(red))["findings"]}
    assert told["lost"] == "passed in the last good run and cannot be judged now: because"
    assert told["inconclusive"] == "no verdict: because"
    assert told["mended"] == "The case passes now: remove the entry, which is for wrong"
    assert told["expired"] == "Expired on 2026-11-24: renew or remove the entry, which is for wrong"


def test_the_tests_of_the_gate_say_what_they_are_about(red: Gated) -> None:
    suite = ET.fromstring(junit.render(red)).findall("testsuite")[1]
    assert [one.get("name") for one in suite.findall("testcase")] == [one.brief for one in red.decision.objections]


def test_the_badges_say_the_same(any_gate: Gated) -> None:
    told = json.loads(badge.render(any_gate))
    assert told["schemaVersion"] == 1
    picture = ET.fromstring(badge_picture.render(any_gate))
    assert picture.get("aria-label") == f"{told['label']}: {told['message']}"


def test_the_decision_as_data(red: Gated) -> None:
    told = json.loads(decision.render(red))
    assert told["status"] == 1
    assert told["broken_since_last"] == ["offsets/new"]
    assert {one["kind"] for one in told["findings"] if one["blocks"]} == {
        "new", "inconclusive", "lost", "mended", "expired",
    }  # fmt: skip


def test_the_baseline_is_named_from_the_top_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "top" / "sub"
    (inner / "ci").mkdir(parents=True)
    monkeypatch.chdir(inner)
    given, whole = Path("ci/known.toml"), inner / "ci" / "known.toml"
    assert path_in_repository(given, {}) == path_in_repository(whole, {}) == "ci/known.toml"
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        assert path_in_repository(given, {name: str(tmp_path / "top")}) == "sub/ci/known.toml"
    (tmp_path / "top" / ".git").mkdir()
    assert path_in_repository(given, {}) == path_in_repository(whole, {}) == "sub/ci/known.toml"
    assert path_in_repository(given, {"GITHUB_WORKSPACE": str(tmp_path)}) == "sub/ci/known.toml"
    assert path_in_repository(tmp_path / "elsewhere.toml", {}) == "elsewhere.toml"


def test_every_file_names_the_baseline_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    made = gated([passed("offsets/a")], known(("offsets/a", "wrong")), Policy())
    assert "file=sub/ci/known.toml," in annotated(made)
    assert '"uri": "sub/ci/known.toml"' in sarif.render(made)
    assert json.loads(code_quality.render(made))[0]["location"]["path"] == "sub/ci/known.toml"


def test_a_failure_whose_entry_expired_is_the_same_in_every_file() -> None:
    baseline = known(("offsets/old", "wrong", YESTERDAY))
    made = gated([passed("offsets/a"), failed("offsets/old")], baseline, Policy())
    sentence = "it is wrong. Its entry expired on 2026-11-24: renew or remove it."
    assert annotated(made) == f"::error file=ci/known.toml,line=1,title=expired%3A offsets/old::{sentence}\n"
    [finding] = json.loads(decision.render(made))["findings"]
    assert (finding["kind"], finding["blocks"], finding["line"]) == ("expired", True, 1)
    [result] = json.loads(sarif.render(made))["runs"][0]["results"]
    assert (result["level"], result["baselineState"]) == ("error", "unchanged")
    assert "suppressions" not in result
    [row] = json.loads(code_quality.render(made))
    assert (row["description"], row["severity"]) == (f"offsets/old: {sentence}", "critical")
    text = summary.render(made)
    assert "Exit status 1: 1 expired entry in known.toml." in text
    assert "### Expired entries of the baseline: 1" in text and "### Known failures" not in text
    assert json.loads(badge.render(made))["message"] == "baseline out of date"
    told = ET.fromstring(junit.render(made)).findall("testsuite[2]/testcase/failure")
    assert [one.get("message") for one in told] == [made.decision.objections[0].sentence]


def test_github_gets_its_summary_and_outputs(red: Gated, tmp_path: Path) -> None:
    job = {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")} | {"GITHUB_ACTIONS": "true"}
    assert github.is_here(job) and not github.is_here({})
    assert github.tell(red, Path("gate"), job).startswith("::error ")
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "status=1\nrun=runs/1\nfiles=gate\n"
    assert "gate failed" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
