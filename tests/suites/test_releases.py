"""The page of Apache Kafka's releases: what is explained, what is not, and what an old note is worth. No JVM."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from brokertrial.suites.case import all_cases, by_id
from brokertrial.suites.guarantees import registry
from brokertrial.suites.proving import releases
from brokertrial.suites.proving.case_dependencies import text_hash
from brokertrial.suites.proving.notes import Note
from brokertrial.suites.proving.release_notes import Defect, ReleaseNotes, defects, findings
from brokertrial.suites.proving.release_page import page, problems, section, with_zookeeper
from brokertrial.suites.since import number

CASE = by_id()["offsets/newest-time"]
SHOULD = by_id()["transactions/plain-in-between"]
KNOWN = Defect(CASE.id, "offset is 5", "KAFKA-16310", "It names the batch.", "3.3", "3.7.2")


def note(verdict: str, sentence: str = "", case: str = CASE.id, text: str = text_hash(CASE)) -> Note:
    return Note(case, text, "kafka:3.3.2", "3.3.2", False, verdict, "statement", sentence, (), 1.0, day="2026-11-23")


def shelf(folder: Path, *notes: Note, release: str = "3.3.2") -> ReleaseNotes:
    path = folder / f"{release}.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in notes))
    return ReleaseNotes(release, path)


def test_a_known_defect_is_named_with_its_issue(tmp_path: Path) -> None:
    found = [shelf(tmp_path, note("fail", "offset is 5; it must be 4"))]
    assert problems(found, [CASE], [KNOWN]) == []
    text = page(found, [CASE], [KNOWN])
    assert "| 3.3.2 | 1 wire cases | 2026-11-23 | 0 | 1 | 0 | 0 | 0 |" in text
    issue = "[KAFKA-16310](https://issues.apache.org/jira/browse/KAFKA-16310)"
    assert f"| 3.3.2 | offsets/newest-time | fail | {issue} | It names the batch. |" in text


IDLE = "explains no failure: offsets/newest-time, KAFKA-16310"


@pytest.mark.parametrize(
    ("sentence", "release", "idle"), [("the error is 1", "3.3.2", [IDLE]), ("offset is 5", "3.8.0", [])]
)
def test_another_failure_or_another_release_is_unexplained(
    sentence: str, release: str, idle: list[str], tmp_path: Path
) -> None:
    found = [shelf(tmp_path, note("fail", sentence), release=release)]
    said = f"unexplained: offsets/newest-time on {release}: {sentence}"
    assert problems(found, [CASE], [KNOWN]) == [said, *idle]
    assert "**unexplained**" in page(found, [CASE], [KNOWN])


@pytest.mark.parametrize(
    ("noted", "release", "idle"),
    [
        (note("pass"), "3.3.2", [IDLE]),
        (note("pass"), "3.8.0", []),  # mended there
        (note("inconclusive"), "3.3.2", []),
        (note("not applicable"), "3.3.2", []),
        (note("pass", case=SHOULD.id, text=text_hash(SHOULD)), "3.3.2", []),  # another case alone was run
    ],
)
def test_an_explanation_is_judged_where_its_case_was(
    noted: Note, release: str, idle: list[str], tmp_path: Path
) -> None:
    assert problems([shelf(tmp_path, noted, release=release)], [CASE, SHOULD], [KNOWN]) == idle
    both = [shelf(tmp_path, noted, release=release), shelf(tmp_path, note("fail", "offset is 5"), release="3.7.2")]
    assert problems(both, [CASE, SHOULD], [KNOWN]) == [], "it explains a failure elsewhere"


def test_a_broken_claim_counts_as_well(tmp_path: Path) -> None:
    found = [shelf(tmp_path, note("fail", "not offered", "claims/share-groups", ""))]
    assert problems(found, [CASE], []) == ["unexplained: claims/share-groups on 3.3.2: not offered"]
    found[0].forget_what_is_said_again()
    assert problems(found, [CASE], []) == [], "the next run says it again, if it is still so"


def test_a_failed_should_is_a_warning_and_an_inconclusive_case_is_shown(tmp_path: Path) -> None:
    warned = note("fail", "it was taken", SHOULD.id, text_hash(SHOULD))
    text = page([shelf(tmp_path, warned, note("inconclusive", "too few"))], [CASE, SHOULD], [])
    assert "| 2 wire cases | 2026-11-23 | 0 | 0 | 1 | 1 | 0 |" in text
    assert "| 3.3.2 | transactions/plain-in-between | warn | **unexplained** | it was taken |" in text
    assert "| 3.3.2 | offsets/newest-time | inconclusive | - | too few |" in text


def test_the_newest_note_on_the_case_as_it_is_counts(tmp_path: Path) -> None:
    old, cut = note("fail", "offset is 5", text="before"), b'{"case": "offsets'
    found = shelf(tmp_path, old)
    found.path.write_bytes(found.path.read_bytes() + cut)
    assert found.missing([CASE]) == [CASE] and problems([found], [CASE], []) == []
    assert shelf(tmp_path, note("inconclusive")).missing([CASE]) == [CASE], "said again, it is tried again"
    assert shelf(tmp_path, note("fail"), note("pass")).missing([CASE]) == []


def test_what_is_unexplained_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--page", "--notes", str(tmp_path), "--to", str(tmp_path / "page.md")]
    shelf(tmp_path, note("fail", "something else"), release="4.4.0")
    assert releases.main(asked) == 1
    assert "unexplained: offsets/newest-time on 4.4.0: something else" in capsys.readouterr().out
    assert "**unexplained**" in (tmp_path / "page.md").read_text()


def test_the_known_defects_are_of_cases_and_releases_that_are_there() -> None:
    assert defects()
    for each in defects():
        assert each.case in by_id(), each
        assert (2, 8) <= number(each.since) <= (number(each.until) or (9,)), each


def test_what_is_seen_with_zookeeper_is_in_the_page_and_explains_nothing_in_kraft_mode(tmp_path: Path) -> None:
    assert with_zookeeper(defects()) in releases.PAGE.read_text(encoding="utf-8") and not with_zookeeper([KNOWN])
    alone = Defect(CASE.id, "offset is 5", "KAFKA-16310", "It names the batch.", "3.3", "3.7.2", zookeeper=True)
    assert "| 3.3 to 3.7.2 | offsets/newest-time | [KAFKA-16310](" in page([], [CASE], [alone])
    said = "unexplained: offsets/newest-time on 3.3.2: offset is 5"
    assert problems([shelf(tmp_path, note("fail", "offset is 5"))], [CASE], [alone]) == [said]


@pytest.mark.parametrize("issue", ["16310", "BUG-1", "KAFKA-", "https://issues.apache.org/jira/browse/KAFKA-1"])
def test_an_issue_is_one_of_apache_kafka(issue: str) -> None:
    with pytest.raises(ValueError, match="issue is KAFKA"):
        Defect("a/b", "x", issue, "y", "3.3")


def test_enough_releases_are_run() -> None:
    minors = {number(release)[:2] for release in releases.RELEASES}
    assert minors >= {(3, minor) for minor in range(3, 10)} | {(4, minor) for minor in range(5)}
    assert len(releases.RELEASES) >= 14 and len(all_cases()) > 200


def test_findings_are_in_the_page_and_their_pages_tell_of_the_same() -> None:
    assert findings() and releases.PAGE.read_text(encoding="utf-8").endswith(section(findings()))
    assert page([], [CASE], [], findings()).endswith(section(findings())) and not section([])
    for each in findings():
        text = (releases.PAGE.parent / each.page).read_text(encoding="utf-8")
        assert all(said in text for said in (*each.issues, *each.guarantees, each.replay, each.since, each.until))
        assert set(each.guarantees) <= registry().keys()
