"""brokertrial.sarif: SARIF 2.1.0, as GitHub's code scanning and others read it.

A broker that is tested from outside has no line of source to blame: a result points to the line of the baseline where
it is, or would be, accepted, and names its case as its logical location. Source: OASIS, "SARIF Version 2.1.0".
"""

from __future__ import annotations

import json
from typing import Any

from brokertrial.ci.gate.findings import RULES, Finding, findings
from brokertrial.ci.gate.gated import Gated
from brokertrial.ci.reports.run_state import suite_version
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.guarantees import registry

NAME = "brokertrial.sarif"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
BASELINE_STATE = {"known": "unchanged", "expired": "unchanged", "mended": "absent"}
DID_RUN = (ExitStatus.PASSED, ExitStatus.FAILED, ExitStatus.INCONCLUSIVE)


def render(gated: Gated) -> str:
    """The whole log, with one run."""
    found = findings(gated.decision, gated.state.known, gated.policy)
    rules = list(dict.fromkeys(finding.rule for finding in found))
    status = gated.decision.status
    run = {
        "tool": {
            "driver": {"name": "brokertrial", "version": suite_version(), "rules": [_rule(name) for name in rules]}
        },
        "automationDetails": {"id": f"brokertrial/{gated.target}/"},
        "invocations": [{"executionSuccessful": status in DID_RUN, "exitCode": int(status)}],
        "results": [_result(finding, rules.index(finding.rule), gated) for finding in found],
        "columnKind": "unicodeCodePoints",
        "properties": {"target": gated.target, "profile": gated.profile, "gate": gated.decision.meaning},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def _rule(name: str) -> dict[str, Any]:
    guarantee = registry().get(name)
    if guarantee is None:
        return {"id": name, "shortDescription": {"text": RULES.get(name, name)}}
    return {
        "id": name,
        "shortDescription": {"text": guarantee.statement},
        "help": {"text": f"Source: {guarantee.source}"},
        "helpUri": guarantee.link,
        "properties": {"level": guarantee.level, "area": guarantee.area},
    }


def _result(finding: Finding, rule: int, gated: Gated) -> dict[str, Any]:
    told: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": finding.level,
        "baselineState": BASELINE_STATE.get(finding.kind, "new"),
        "message": {"text": f"{finding.case}: {finding.sentence}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": gated.baseline},
                    "region": {"startLine": finding.line},
                },
                "logicalLocations": [{"fullyQualifiedName": finding.case, "kind": "test"}],
            }
        ],
        "partialFingerprints": {"brokertrialFinding/v1": finding.fingerprint},
        "properties": {"kind": finding.kind, "signature": finding.name},
    }
    if finding.kind == "known":
        told["suppressions"] = [{"kind": "external", "justification": finding.accepted}]
    return told
