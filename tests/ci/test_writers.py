"""What the writers make of a run that shows every verdict."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports import console, discover, junit, known_failures, report, results, summary
from brokertrial.ci.reports.case_views import CaseViews
from brokertrial.ci.reports.details import details
from brokertrial.ci.reports.known import KnownFailure, KnownFailures
from brokertrial.ci.reports.run_state import RunState
from brokertrial.ci.reports.timeline import timeline
from brokertrial.suites.events import (
    CaseFinished,
    CaseStarted,
    LeftOut,
    PhaseChanged,
    RunEvent,
    RunFinished,
    RunStarted,
    TrialProgress,
)
from brokertrial.suites.result import CaseResult, KafkaProof


class Tags(HTMLParser):
    """Collects ids and links, and that every tag is closed."""

    VOID = frozenset({"meta", "br", "hr", "link", "img", "input", "col"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag not in self.VOID:
            self.open.append(tag)
        self.ids |= {values["id"]} if "id" in values else set()
        self.links += [values["href"]] if tag == "a" else []
        self.sources += [values[name] for name in ("src", "srcset", "data") if name in values]
        assert tag != "link"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.sources += [value or "" for name, value in attrs if name == "src"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def rendered(state: RunState) -> str:
    """The page with all of its views."""
    views = CaseViews(state)
    for result in state.results:
        views.quick(result)
    views.complete()
    return report.render(state, views)


@pytest.fixture
def page(state: RunState) -> str:
    return rendered(state)


def test_the_report_is_one_file_without_outside_resources(page: str) -> None:
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.sources == []
    assert not re.search(r"@import|url\(|<script[^>]+src", page)


def test_every_anchor_that_the_report_names_exists(page: str) -> None:
    tags = Tags()
    tags.feed(page)
    inside = {link[1:] for link in tags.links if link.startswith("#")}
    assert inside <= tags.ids
    assert {"idempotence.lost-ack", "offsets.by-time-within-a-batch"} <= tags.ids


def test_the_report_shows_the_proof_of_a_failure(page: str) -> None:
    for text in (
        "t-1  offset 431  value 8812",
        "the same record again",
        "Apache Kafka 4.4.0, 2026-11-20",
        "Detects planted bugs: M05, M06",
        "This case passed on Apache Kafka 4.4.0, 2026-11-20.",
        "out of order sequence &lt;for&gt; producer 17 &amp; epoch 0",
        "brokertrial check",
        "brokertrial replay",
        "<mark>    error_code  -1</mark>",
        '<p class="banner fail">Failed: 2 cases, 2 causes</p>',
        "not in the smoke profile",
        '<svg class="timeline"',
        "f1 drop_response",
    ):
        assert text in page


def test_the_report_names_no_host(page: str) -> None:
    import socket

    assert socket.gethostname() not in page


def test_the_picture_of_a_case_without_load_is_empty(tmp_path: Path) -> None:
    assert timeline(tmp_path) == ""


def test_junit_counts_what_ci_systems_count(state: RunState) -> None:
    suite = ET.fromstring(junit.render(state))[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "2",
        "errors": "1",
        "skipped": "2",
    }
    assert len(suite.findall("testcase/failure")) == 2
    assert len(suite.findall("testcase/error")) == 1
    assert len(suite.findall("testcase/skipped")) == 2


def test_every_report_says_how_much_was_decided_and_why_not_more(state: RunState, told: list[RunEvent]) -> None:
    decided = "3 of 5 musts decided, 1 not applicable (not-offered 1)"
    assert decided in state.tally.line()
    for page in (summary.render(state), rendered(state)):
        assert decided in page
        assert "the broker does not compact" in page and "compaction/latest-value-stays" in page
    suite = ET.fromstring(junit.render(state))[0]
    properties = {entry.get("name"): entry.get("value") for entry in suite.findall("properties/property")}
    assert properties["musts decided"] == "3 of 5" and properties["not applicable, not-offered"] == "1"
    case = next(entry for entry in suite.findall("testcase") if entry.get("name") == "latest-value-stays")
    assert case.find("skipped").get("message").startswith("not applicable: not-offered: the broker does not compact")
    writer = results.writer(state)
    for event in told:
        writer.on(event)
    footer = results.read(state.folder)[2]
    assert (footer.decided, footer.musts, footer.not_applicable) == (3, 5, {"not-offered": 1})


def test_junit_survives_characters_that_xml_cannot_carry(state: RunState) -> None:
    state.results[1] = msgspec.structs.replace(state.results[1], warnings=("a\x00b\x1bc\ud800",))
    ET.fromstring(junit.render(state).encode("utf-8", "replace"))


def test_the_summary_shows_what_needs_attention_and_how_to_accept_it(state: RunState) -> None:
    text = summary.render(state)
    assert state.tally.line() in text
    assert "offset 431" in text
    assert f"copy 2 entries from {state.place}/known-failures.toml into your --known file" in text
    assert len(text) < 1_000_000


def spoken(told: list[RunEvent], state: RunState, live: bool = False) -> str:
    out = io.StringIO()
    screen = Console(file=out, width=140, force_terminal=live, color_system=None, highlight=False, markup=False)
    writer = console.ConsoleWriter(state, screen, live)
    for event in told:
        state.on(event)
        writer.on(event)
    writer.close()
    return out.getvalue()


def test_the_console_has_one_line_a_case_and_details_only_of_what_is_not_green(
    run_folder: Path, told: list[RunEvent]
) -> None:
    state = RunState(run_folder)
    text = spoken(told, state)
    lines = text.splitlines()
    for result in state.results:
        assert sum(re.match(rf"\S+ +{re.escape(result.case)} ", line) is not None for line in lines) == 1
    assert "about 40 s" in lines[1]
    assert "Not run: chaos/pause-leader" in text
    assert "<- the same record again" in text
    assert "at or after it" not in text
    assert lines[-1].startswith(state.tally.line())
    assert "exit status 1" in lines[-1]


def test_the_console_shows_a_bounded_part_of_a_failure_and_says_where_the_rest_is(
    run_folder: Path, told: list[RunEvent], results: tuple[CaseResult, ...]
) -> None:
    """A hundred records in the sentence and in the field at fault: 15 KB, of which the report keeps all."""
    wrong = next(r for r in results if r.case == "protocol/unknown-tag")
    records = ", ".join(f"b'v{number}'" for number in range(900))
    assert wrong.reason is not None
    long = msgspec.structs.replace(
        wrong,
        reason=msgspec.structs.replace(wrong.reason, sentence=f"the records are [{records}]"),
        evidence=tuple(msgspec.structs.replace(one, note=records) for one in wrong.evidence),
    )
    state = RunState(run_folder)
    lines = spoken([told[0], CaseFinished(long)], state).splitlines()
    shown = lines[next(n for n, line in enumerate(lines) if line.startswith("FAIL")) :]
    assert len(shown) <= 26 and max(map(len, shown)) <= 160 and len("\n".join(shown)) < 3_000
    assert shown[-2 if not shown[-1] else -1].strip() == f"{state.place}/report.html has all of it."
    assert any(line.endswith("…") for line in shown)


def test_the_console_says_a_known_failure_in_one_line(
    run_folder: Path, told: list[RunEvent], results: tuple[CaseResult, ...]
) -> None:
    known = KnownFailures("known.toml", (KnownFailure("idempotence/lost-ack", "anomaly:duplicate", "fixed in 2.4"),))
    text = spoken(told, RunState(run_folder, known))
    assert "<- the same record again" not in text
    assert "known  idempotence/lost-ack: anomaly:duplicate (fixed in 2.4)" in text
    assert re.search(r"^known idempotence/lost-ack .* anomaly: ", text, re.M) and "FAIL  idempotence/" not in text


def test_the_entries_for_known_failures_are_in_a_file_and_not_on_the_console(
    run_folder: Path, told: list[RunEvent]
) -> None:
    state = RunState(run_folder)
    text = spoken(told, state)
    known_failures.writer(state).on(told[-1])
    lines = (run_folder / known_failures.NAME).read_text("utf-8")
    assert f"copy 2 entries from {state.place}/known-failures.toml" in text
    assert "[[known]]" not in text and "[[known]]" not in summary.render(state)
    assert '[[known]]\ncase = "idempotence/lost-ack"\nfailure = "anomaly:duplicate"' in lines
    assert lines.count("[[known]]") == len(state.tally.failed) == 2


def test_the_file_of_known_failures_is_called_by_its_name(
    run_folder: Path, told: list[RunEvent], results: tuple[CaseResult, ...]
) -> None:
    entries = (KnownFailure(results[0].case, "wrong", "slow", line=3),)
    state = RunState(run_folder, KnownFailures("ci/ours.toml", entries))
    last = spoken(told, state).splitlines()[-1]
    assert "1 stale entry in ours.toml" in last
    assert last.endswith("exit status 1 = a guarantee was violated, and ours.toml is out of date")
    assert known_failures.pointer(state).endswith("/known-failures.toml into ci/ours.toml.")
    state.results = [results[0]]
    assert state.meaning == "ours.toml is out of date"


@pytest.mark.parametrize(
    ("left_out", "size", "said"),
    [
        ([LeftOut(f"a/{n}", "not in the smoke profile") for n in range(736)], "profile smoke",
         ["736 cases: not in the smoke profile"]),
        ([LeftOut("a/1", "not in the smoke profile"), LeftOut("a/2", "too long"), LeftOut("a/3", "too long")],
         "profile smoke", ["a/1: not in the smoke profile", "a/2, a/3: too long"]),
        ([LeftOut("a/1", "not selected")], "named by --select, each as large as in profile smoke",
         ["a/1: not selected"]),
    ],
)  # fmt: skip
def test_what_was_not_run_is_one_line_a_reason(
    run_folder: Path, told: list[RunEvent], left_out: list[LeftOut], size: str, said: list[str]
) -> None:
    assert isinstance(told[0], RunStarted)
    told[0] = msgspec.structs.replace(told[0], left_out=tuple(left_out))
    state = RunState(run_folder)
    lines = spoken(told, state).splitlines()
    assert f"6 cases, {size}, about 40 s on a healthy target" in lines[1]
    shown = [] if left_out[0].reason == "not selected" else [f"Not run: {line}" for line in said]
    assert [line for line in lines if line.startswith("Not run")] == shown
    page = summary.render(state)
    assert f" · {size} · seed 42" in page
    assert page[page.index("<summary>Not run") :].splitlines()[2 : 2 + len(said) + 1] == [*(f"- {x}" for x in said), ""]


def test_the_run_of_a_gate_leaves_its_status_and_the_baseline_to_the_gate(
    run_folder: Path, told: list[RunEvent]
) -> None:
    text = spoken(told, RunState(run_folder, KnownFailures("known.toml"), in_gate=True))
    assert "exit status" not in text and "To accept" not in text


def test_what_is_known_already_is_not_recorded_again(
    run_folder: Path, told: list[RunEvent], results: tuple[CaseResult, ...]
) -> None:
    known = KnownFailures("known.toml", (KnownFailure("idempotence/lost-ack", "anomaly:duplicate", "fixed in 2.4"),))
    state = RunState(run_folder, known)
    spoken(told, state)
    assert "lost-ack" not in "".join(known_failures.new_lines(state))
    assert "unknown-tag" in "".join(known_failures.new_lines(state))


def test_the_live_line_tells_case_phase_operations_fault_and_time_left(told: list[RunEvent]) -> None:
    now = [100.0]
    line = console.StatusLine(lambda: now[0])
    line.on(told[0])
    line.on(CaseStarted("idempotence/lost-ack", 2, 6))
    line.on(PhaseChanged("idempotence/lost-ack", "faults"))
    line.on(TrialProgress("idempotence/lost-ack", 1204, active=("drop_response f1",)))
    now[0] += 1.5
    text = line.__rich__().plain
    told_now = "[2/6] about 10 s left  idempotence/lost-ack  faults  1,204 acknowledged  ! drop_response f1"
    assert text == told_now, "what a narrow terminal cuts off is the fault's text alone"


def test_a_target_that_never_served_shows_its_last_lines(run_folder: Path) -> None:
    state = RunState(run_folder)
    end = RunFinished(status=7, error="file:b.toml: exited before it was ready (status 1).", tail=("panic: no disk",))
    text = spoken([end], state)
    assert "| panic: no disk" in text
    assert "exit status 7 = the target never became ready" in text


def test_writers_are_found_by_their_file(state: RunState) -> None:
    assert set(discover(state)) == {"console", "junit", "known_failures", "report", "results", "running", "summary"}


def test_details_mark_the_field_that_differs(results: tuple[CaseResult, ...]) -> None:
    wrong = next(r for r in results if r.case == "protocol/unknown-tag")
    assert "\n      >     error_code  -1\n" in details(wrong, "runs/x")


def test_a_case_finished_twice_is_not_lost(run_folder: Path, results: tuple[CaseResult, ...]) -> None:
    state = RunState(run_folder)
    for result in results:
        state.on(CaseFinished(result))
    assert len(state.results) == len(results)


def test_what_cannot_be_written_is_said_and_is_never_green(run_folder: Path, told: list[RunEvent]) -> None:
    state = RunState(run_folder, known=KnownFailures())
    state.broken["results"] = "No space left on device."
    text = spoken([told[0], RunFinished(status=0)], state)
    assert "results could not be written: No space left on device." in text
    assert "exit status 3" in text


def test_a_fault_of_ours_never_accuses_the_broker(run_folder: Path, results: tuple[CaseResult, ...]) -> None:
    state = RunState(run_folder)
    state.on(CaseFinished(results[0]))
    state.on(RunFinished(status=3))
    assert state.status == 3
    state.on(CaseFinished(results[1]))
    assert state.status == 1


def test_a_closed_pipe_silences_the_console_only(state: RunState, told: list[RunEvent]) -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    writer = console.ConsoleWriter(state, console.Screen(file=Closed()), live=False)
    for event in told:
        writer.on(event)
    writer.close()


def test_every_report_shows_the_attempts(state: RunState) -> None:
    line = "attempt 2, seed 43: inconclusive: no-hit: fault f2 was scheduled but never triggered"
    assert line in summary.render(state)
    assert line in junit.render(state)
    assert "seed 43" in rendered(state)


def test_the_summary_names_three_files_of_those_that_call_for_renewal() -> None:
    def proven(*due: str) -> CaseResult:
        return CaseResult("a/b", "It MUST.", ("x-001",), "must", Verdict.PASS, proof=KafkaProof(renewal_due=due))

    few = "\n".join(summary._renewal([proven("a.py", "b.py", "c.py")]))
    many = "\n".join(summary._renewal([proven("a.py", "b.py"), proven("c.py", "d.py", "e.py")]))
    assert few.endswith("before `a.py`, `b.py`, `c.py` changed; they must pass there again.")
    assert many.endswith("2 of these cases passed on Apache Kafka before `a.py`, `b.py`, `c.py` and 2 more files "
                         "changed; they must pass there again.")  # fmt: skip
    assert list(summary._renewal([proven()])) == []
