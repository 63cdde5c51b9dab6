"""junit.xml, as CI systems read it: a failed `must` is a failure, inconclusive an error, not applicable skipped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports.details import attempt_lines, details
from brokertrial.ci.reports.run_state import RunState
from brokertrial.ci.reports.tally import Tally
from brokertrial.suites.events import RunEvent, RunFinished
from brokertrial.suites.result import CaseResult

FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JunitWriter:
    """Written once, at the end."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def on(self, event: RunEvent) -> None:
        if isinstance(event, RunFinished):
            (self._state.folder / "junit.xml").write_text(render(self._state), encoding="utf-8")


def writer(state: RunState) -> JunitWriter:
    return JunitWriter(state)


def render(state: RunState) -> str:
    """The whole file."""
    return written([suite(state)])


def suite(state: RunState) -> ET.Element:
    """The cases of a run."""
    tally = state.tally
    made = ET.Element(
        "testsuite",
        name=f"brokertrial {state.run.target if state.run else ''}".strip(),
        tests=str(len(state.results)),
        failures=str(len(tally.failed)),
        errors=str(len(tally.inconclusive)),
        skipped=str(len(tally.not_applicable) + len(tally.known) + len(tally.warned)),
        time=f"{state.end.duration_s if state.end else 0.0:.3f}",
    )
    if state.run:
        made.set("timestamp", state.run.started_at)
        told = {"target": state.run.target, "version": state.run.target_version, "seed": state.run.seed}
        _properties(made, told | _floor(state))
    for result in state.results:
        _case(made, result, state, tally)
    return made


def written(suites: Iterable[ET.Element]) -> str:
    """The file with these suites."""
    root = ET.Element("testsuites")
    root.extend(suites)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _floor(state: RunState) -> dict[str, object]:
    """How much was decided at all, and why not more."""
    tally = state.tally
    told: dict[str, object] = {"musts decided": f"{len(tally.decided)} of {len(tally.musts)}"}
    told.update((f"not applicable, {kind}", count) for kind, count in tally.not_applicable_by_reason().items())
    told.update((word, ", ".join(names)) for word, names in tally.said_once().items())
    return told


def _case(suite: ET.Element, result: CaseResult, state: RunState, tally: Tally) -> None:
    area, _, name = result.case.partition("/")
    case = ET.SubElement(suite, "testcase", classname=area, name=name, time=f"{result.duration_s:.3f}")
    _properties(
        case,
        {"guarantees": " ".join(result.guarantees), "level": result.level, "seed": result.seed}
        | ({"attempts": "; ".join(attempt_lines(result))} if len(result.attempts) > 1 else {}),
    )
    message = clean(result.reason.sentence if result.reason else result.statement)
    if result.verdict is Verdict.INCONCLUSIVE:
        _outcome(case, "error", message, result, state)
    elif result.verdict is Verdict.NOT_APPLICABLE:
        kind = f"{result.reason.kind}: " if result.reason else ""
        ET.SubElement(case, "skipped", message=f"not applicable: {kind}{message}")
    elif result.verdict is Verdict.FAIL:
        if result in tally.failed:
            _outcome(case, "failure", message, result, state)
        else:
            why = "known failure" if result in tally.known else f"warning (a `{result.level}`)"
            ET.SubElement(case, "skipped", message=f"{why}: {message}")


def _outcome(case: ET.Element, tag: str, message: str, result: CaseResult, state: RunState) -> None:
    kind = result.reason.kind if result.reason else "anomaly"
    ET.SubElement(case, tag, message=message, type=kind).text = clean(details(result, state.place_of(result)))


def _properties(parent: ET.Element, values: dict[str, object]) -> None:
    properties = ET.SubElement(parent, "properties")
    for name, value in values.items():
        ET.SubElement(properties, "property", name=name, value=clean(str(value)))


def clean(text: str) -> str:
    """Without the characters that XML 1.0 cannot carry."""
    return FORBIDDEN.sub("\ufffd", text)
