"""badge.json: what shields.io draws a badge from ("Endpoint Badge"); badge.svg is the same, drawn here."""

from __future__ import annotations

import json

from brokertrial.ci.gate.decision import counted
from brokertrial.ci.gate.gated import Gated
from brokertrial.suites.exit_status import ExitStatus

NAME = "badge.json"
LABEL = "brokertrial"
WORDS = {
    ExitStatus.INCONCLUSIVE: "inconclusive",
    ExitStatus.NOTHING_JUDGED: "nothing decided",
    ExitStatus.NOT_READY: "not ready",
    ExitStatus.INTERRUPTED: "interrupted",
}


def render(gated: Gated) -> str:
    """One object."""
    message, color = shown(gated)
    return json.dumps({"schemaVersion": 1, "label": LABEL, "message": message, "color": color}) + "\n"


def shown(gated: Gated) -> tuple[str, str]:
    """What the badge says, and its colour."""
    decision, tally = gated.decision, gated.decision.tally
    if decision.is_green:
        beside = [counted(len(tally.known), "known failure")] if tally.known else []
        beside += [f"{len(tally.inconclusive)} inconclusive"] if tally.inconclusive else []
        said = f"{len(tally.decided)} of {len(tally.musts)} musts decided"
        return ", ".join([said, *beside]), "yellowgreen" if beside else "brightgreen"
    if decision.new:
        return counted(len(decision.new), "new failure"), "red"
    if decision.status == ExitStatus.FAILED:
        return "baseline out of date" if decision.expired or decision.mended else "cases lost", "red"
    return WORDS.get(decision.status, "error"), "yellow" if decision.status == ExitStatus.INCONCLUSIVE else "lightgrey"
