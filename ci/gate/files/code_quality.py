"""gl-code-quality-report.json: the findings as GitLab shows them beside a merge request.

Source: GitLab Docs, "Code Quality", the fields that a report must have.
"""

from __future__ import annotations

import json

from brokertrial.ci.gate.findings import Finding, findings
from brokertrial.ci.gate.gated import Gated
from brokertrial.ci.reports.causes import HarmKind

NAME = "gl-code-quality-report.json"


def render(gated: Gated) -> str:
    """A list, one object a finding; the same finding has the same fingerprint in every run."""
    rows = [
        {
            "description": f"{finding.case}: {finding.sentence}",
            "check_name": finding.rule,
            "fingerprint": finding.fingerprint,
            "severity": _severity(finding),
            "location": {"path": gated.baseline, "lines": {"begin": finding.line}},
        }
        for finding in findings(gated.decision, gated.state.known, gated.policy)
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def _severity(finding: Finding) -> str:
    if finding.level == "error":
        return "blocker" if finding.harm is not None and finding.harm <= HarmKind.ISOLATION else "critical"
    return "info" if finding.level == "note" else "minor"
