"""gate.json: the decision as data, for scripts."""

from __future__ import annotations

import json
from typing import Any

from brokertrial.ci.gate.findings import findings
from brokertrial.ci.gate.gated import Gated
from brokertrial.ci.reports.run_state import as_typed

NAME = "gate.json"
FORMAT = 1


def render(gated: Gated) -> str:
    """One object; `findings` has every failure, entry and undecided case with its kind and whether it blocks."""
    decision, tally = gated.decision, gated.decision.tally
    content: dict[str, Any] = {
        "format": FORMAT,
        "target": gated.target,
        "run": as_typed(gated.runs.folder),
        "status": int(decision.status),
        "meaning": decision.meaning,
        "objections": [
            {"status": int(objection.status), "sentence": objection.sentence} for objection in decision.objections
        ],
        "notes": list(gated.notes),
        "counts": tally.line(),
        "musts": len(tally.musts),
        "decided": len(tally.decided),
        "broken_since_last": [result.case for result in decision.changes.broken],
        "mended_since_last": [result.case for result in decision.changes.mended],
        "findings": [
            {
                "kind": finding.kind,
                "blocks": finding.blocks,
                "case": finding.case,
                "rule": finding.rule,
                "signature": finding.name,
                "sentence": finding.sentence,
                "line": finding.line,
                "fingerprint": finding.fingerprint,
            }
            for finding in findings(decision, gated.state.known, gated.policy)
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
