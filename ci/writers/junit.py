"""junit.xml, as CI systems read it: a failed `must` is a failure, inconclusive an error, not applicable skipped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from checkers.verdict import Verdict
from ci.details import attempt_lines, details
from ci.story import Story
from suites.events import RunEvent, RunFinished
from suites.result import CaseResult

FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JunitWriter:
    """Written once, at the end."""

    def __init__(self, story: Story) -> None:
        self._story = story

    def on(self, event: RunEvent) -> None:
        if isinstance(event, RunFinished):
            (self._story.folder / "junit.xml").write_text(render(self._story), encoding="utf-8")


def writer(story: Story) -> JunitWriter:
    return JunitWriter(story)


def render(story: Story) -> str:
    """The whole file."""
    tally = story.tally
    suite = ET.Element(
        "testsuite",
        name=f"brokertrial {story.run.target if story.run else ''}".strip(),
        tests=str(len(story.results)),
        failures=str(len(tally.failed)),
        errors=str(len(tally.inconclusive)),
        skipped=str(len(tally.not_applicable) + len(tally.known) + len(tally.warned)),
        time=f"{story.end.duration_s if story.end else 0.0:.3f}",
    )
    if story.run:
        suite.set("timestamp", story.run.started_at)
        told = {"target": story.run.target, "version": story.run.target_version, "seed": story.run.seed}
        _properties(suite, told | _floor(story))
    for result in story.results:
        _case(suite, result, story)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _floor(story: Story) -> dict[str, object]:
    """How much was decided at all, and why not more."""
    tally = story.tally
    told: dict[str, object] = {"musts decided": f"{len(tally.decided)} of {len(tally.musts)}"}
    told.update((f"not applicable, {kind}", count) for kind, count in tally.not_applicable_by_reason().items())
    told.update((word, ", ".join(names)) for word, names in tally.said_once().items())
    return told


def _case(suite: ET.Element, result: CaseResult, story: Story) -> None:
    area, _, name = result.case.partition("/")
    case = ET.SubElement(suite, "testcase", classname=area, name=name, time=f"{result.duration_s:.3f}")
    _properties(
        case,
        {"guarantees": " ".join(result.guarantees), "level": result.level, "seed": result.seed}
        | ({"attempts": "; ".join(attempt_lines(result))} if len(result.attempts) > 1 else {}),
    )
    message = _clean(result.reason.sentence if result.reason else result.statement)
    if result.verdict is Verdict.INCONCLUSIVE:
        _outcome(case, "error", message, result, story)
    elif result.verdict is Verdict.NOT_APPLICABLE:
        kind = f"{result.reason.kind}: " if result.reason else ""
        ET.SubElement(case, "skipped", message=f"not applicable: {kind}{message}")
    elif result.verdict is Verdict.FAIL:
        if result in story.tally.failed:
            _outcome(case, "failure", message, result, story)
        else:
            why = "known to fail" if result in story.tally.known else "a `should` that does not hold"
            ET.SubElement(case, "skipped", message=f"{why}: {message}")


def _outcome(case: ET.Element, tag: str, message: str, result: CaseResult, story: Story) -> None:
    kind = result.reason.kind if result.reason else "anomaly"
    ET.SubElement(case, tag, message=message, type=kind).text = _clean(details(result, story.place))


def _properties(parent: ET.Element, values: dict[str, object]) -> None:
    properties = ET.SubElement(parent, "properties")
    for name, value in values.items():
        ET.SubElement(properties, "property", name=name, value=_clean(str(value)))


def _clean(text: str) -> str:
    """Without the characters that XML 1.0 cannot carry."""
    return FORBIDDEN.sub("\ufffd", text)
