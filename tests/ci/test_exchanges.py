"""A case of single requests is shown with all of its exchanges, the one at fault marked; `explain` shows it too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.cli import main
from brokertrial.ci.commands import explain as command
from brokertrial.ci.reports.case_views import CaseViews
from brokertrial.ci.reports.excerpt import excerpt
from brokertrial.ci.reports.exchange_steps import ExchangeStep, steps_of
from brokertrial.ci.reports.report import render
from brokertrial.ci.reports.run_state import RunState
from brokertrial.ci.reports.shown_steps import Gap, shown
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.suites.case import Case
from brokertrial.suites.events import CaseFinished
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.rendering import MAX_LINES
from brokertrial.suites.probe.rendering import render as rendered
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.probe.transcript import TranscriptWriter
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running import rejudge
from brokertrial.wire.messages import response
from tests.suites.scripted import SCENE, TOPIC, produced, wire_to


def _two_sends(wire):
    """The second record MUST be behind the first."""
    wire.produce(TOPIC, batch("a", timestamp=wire.now_ms())).must_be_at(4)
    wire.produce(TOPIC, batch("b")).must_be_at(5)


CASE = Case("tests/case", _two_sends, ("prod-001",), (), {}, {}, False, None)


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The history of a case whose second response is wrong."""
    wire, exchanger = wire_to(Produce=produced(offset=4))
    attempt(CASE, wire, exchanger, {}, lambda: True)
    folder = tmp_path / "run" / "histories" / "tests.case"
    folder.parent.mkdir(parents=True)
    settings = {"scene": msgspec.to_builtins(SCENE), "content": CASE.content_hash, "kind": "wire"}
    with Recorder.create(folder, Header(case=CASE.id, target="scripted", settings=settings)) as recorder:
        writer = TranscriptWriter(recorder)
        for entry in exchanger.tape:
            writer(entry)
        writer.close()
    for module in (rejudge, command):
        monkeypatch.setattr(module, "case_named", {CASE.id: CASE}.get)
    return folder


@pytest.fixture
def result(stored: Path) -> CaseResult:
    found = rejudge.judge_stored(stored)
    assert found.verdict is Verdict.FAIL
    return found


def test_every_exchange_is_a_step_and_the_one_at_fault_is_marked(stored: Path, result: CaseResult) -> None:
    steps = steps_of(History.open(stored), result)

    assert [step.api.partition(" ")[0] for step in steps][-2:] == ["Produce", "Produce"]
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert [step.note for step in steps[:-1]] == [""] * (len(steps) - 1)
    assert "base_offset" in steps[-1].note and "it must be 5" in steps[-1].note
    assert "1 record" in steps[-1].request and "base_offset 4" in steps[-1].response


def test_the_card_shows_the_steps(stored: Path, result: CaseResult) -> None:
    state = RunState(stored.parents[1])
    result = msgspec.structs.replace(result, history="histories/tests.case")
    state.on(CaseFinished(result))
    views = CaseViews(state)
    views.quick(result)
    page = render(state, views)

    assert "All exchanges of the case" in page
    assert page.count('<tr class="accused">') == 1
    assert "<strong>ApiVersions v3</strong>" in page and "Requests and responses at fault" in page


def test_of_many_steps_those_around_the_fault_are_shown(stored: Path, result: CaseResult) -> None:
    many = _numbered(stored, result, 2000, fault=900, content=lambda number: b"%d" % number)
    lines = shown(many)

    numbers = [line.number for line in lines if not isinstance(line, Gap)]
    assert numbers[:5] == [1, 2, 3, 4, 5] and 895 in numbers and 900 in numbers and 905 in numbers
    assert sum(line.count for line in lines if isinstance(line, Gap)) + len(numbers) == 2000
    assert not any(line.repeated for line in lines if isinstance(line, Gap))


def test_what_is_asked_again_and_again_fills_no_lines(stored: Path, result: CaseResult) -> None:
    many = _numbered(stored, result, 200, fault=200, content=lambda number: b"%d" % (number if number < 50 else 0))
    lines = shown(many)

    assert [line.number for line in lines if not isinstance(line, Gap)][-3:] == [49, 50, 200]
    assert [line.text for line in lines if isinstance(line, Gap)][-1] == "149 exchanges, each the same as one above"
    assert {*range(40, 51)} <= {line.number for line in lines if not isinstance(line, Gap)}, "what came before is shown"


def test_what_is_asked_in_turn_of_each_node_fills_no_lines(stored: Path, result: CaseResult) -> None:
    many = _numbered(stored, result, 200, fault=200, content=lambda number: b"%d" % (number % 3))
    assert [line.count for line in shown(many) if isinstance(line, Gap)] == [194]


def test_one_that_differs_among_those_that_are_alike_is_shown(stored: Path, result: CaseResult) -> None:
    many = _numbered(stored, result, 200, fault=200, content=lambda number: b"other" if number == 90 else b"same")
    assert 90 in [line.number for line in shown(many) if not isinstance(line, Gap)]


def _numbered(
    stored: Path, result: CaseResult, count: int, *, fault: int, content: Callable[[int], bytes]
) -> list[ExchangeStep]:
    step = replace(steps_of(History.open(stored), result)[0], note="")
    return [
        replace(step, number=number, note="wrong" if number == fault else "", content=hash(content(number)))
        for number in range(1, count + 1)
    ]


def test_explain_shows_a_case_of_single_requests(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["explain", str(stored)])
    out = capsys.readouterr().out

    assert end.value.code == 0
    assert "FAIL tests/case" in out and "The second record MUST be behind the first." in out
    fault = next(line for line in out.splitlines() if "  <- " in line)
    assert "Produce v" in fault and "it must be 5" in fault
    assert any(line.startswith("  > ") and "base_offset" in line for line in out.splitlines())
    assert (stored.parent / "explain-tests.case.html").read_text("utf-8").count('class="accused"') == 1


def test_explain_shows_one_exchange_in_full(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["explain", str(stored), "1"])
    out = capsys.readouterr().out
    assert end.value.code == 0 and out.startswith("Exchange 1 of ") and "ApiVersions request v" in out

    with pytest.raises(SystemExit) as end:
        main(["explain", str(stored), "99"])
    assert end.value.code == 4 and "counted from 1" in capsys.readouterr().err


def test_a_long_response_is_cut_around_the_field_at_fault() -> None:
    rows = [{"error_code": 0, "name": f"t{number}", "partitions": []} for number in range(500)]
    rows[321]["error_code"] = 5
    message = response("Metadata", brokers=[], topics=rows)
    text, marked = rendered(message, 12, ("topics[321].error_code",))
    lines = text.splitlines()

    assert len(lines) <= MAX_LINES and "5 (LEADER_NOT_AVAILABLE)" in lines[marked[0]]
    assert any("topics[321]" in line for line in lines[marked[0] - 3 : marked[0]])
    assert any("topics[322]" in line for line in lines[marked[0] :]), "what follows is shown too"
    shorter = excerpt(text, marked)
    at = next(number for number, line in enumerate(shorter) if line.marked)
    assert "5 (LEADER_NOT_AVAILABLE)" in shorter[at].text and "topics[321]" in shorter[at - 1].text
    assert len(shorter) < 30 and shorter[0].text == "Metadata response v12" and any(line.gap for line in shorter)
    assert [line.text for line in excerpt("a\nb\nc", (1,))] == ["a", "b", "c"]
