"""junit.xml: the cases as the policy weighs them, and a suite `brokertrial gate` with what is no case's doing."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from brokertrial.ci.gate.gated import Gated
from brokertrial.ci.reports import junit

NAME = "junit.xml"


def render(gated: Gated) -> str:
    """The whole file. Every objection is a failed test of the suite of the gate: no red gate is a green file."""
    suites = [_cases(gated)] if gated.runs.run else []
    return junit.written([*suites, _gate(gated)])


def _cases(gated: Gated) -> ET.Element:
    suite = junit.suite(gated.state)
    tolerated = [] if gated.decision.blocks_inconclusive else list(suite.iter("error"))
    for error in tolerated:
        error.tag = "skipped"
        error.set("message", f"inconclusive, tolerated by the policy: {error.get('message')}")
    suite.set("errors", str(sum(1 for _ in suite.iter("error"))))
    suite.set("skipped", str(sum(1 for _ in suite.iter("skipped"))))
    return suite


def _gate(gated: Gated) -> ET.Element:
    decision = gated.decision
    count = len(decision.objections)
    suite = ET.Element(
        "testsuite", name="brokertrial gate", tests=str(max(1, count)), failures=str(count), errors="0", skipped="0"
    )
    for objection in decision.objections:
        case = ET.SubElement(suite, "testcase", classname="gate", name=objection.brief)
        failure = ET.SubElement(case, "failure", message=junit.clean(objection.sentence), type=objection.status.name)
        failure.text = junit.clean(objection.sentence)
    if decision.is_green:
        ET.SubElement(suite, "testcase", classname="gate", name="passed")
    ET.SubElement(suite, "system-out").text = junit.clean("\n".join(gated.notes))
    return suite
