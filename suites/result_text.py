"""A result as plain text: the statement, the reason and the evidence."""

from __future__ import annotations

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.result import CaseResult

ANOMALIES, EVIDENCE = 5, 6
"""So many are shown."""


def text(result: CaseResult) -> str:
    """Some lines for a terminal; what must hold and does not is marked `>>`."""
    reason = f"{result.reason.kind}: {result.reason.sentence}" if result.reason else ""
    if result.verdict is Verdict.NOT_APPLICABLE:
        return reason
    lines = [f"{str(result.verdict).upper()}  {result.case}   {result.level}", f"  {result.statement}", f"  {reason}"]
    lines += [f"  {anomaly.name}: {anomaly.sentence}" for anomaly in result.anomalies[:ANOMALIES]]
    for proof in result.evidence[-EVIDENCE:]:
        rows = enumerate(proof.text.splitlines())
        lines += ["", *(f"  {'>>' if row in proof.marked else '  '} {line}" for row, line in rows)]
    return "\n".join([*lines, *(f"  warning: {warning}" for warning in result.warnings)])
