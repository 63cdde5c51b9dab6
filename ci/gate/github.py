"""What GitHub Actions takes from a job: annotations on its output, the job summary, the outputs of the step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from brokertrial.ci.gate.files import summary
from brokertrial.ci.gate.files.annotations import refusal
from brokertrial.ci.gate.files.annotations import render as annotated
from brokertrial.ci.gate.gated import Gated
from brokertrial.ci.reports.run_state import as_typed

SUMMARY_MOST = 1_000_000
"""Bytes of a job summary, above which GitHub shows nothing of it."""


def is_here(environment: Mapping[str, str]) -> bool:
    """Whether this is a job of GitHub Actions."""
    return environment.get("GITHUB_ACTIONS") == "true"


def tell(gated: Gated, out: Path, environment: Mapping[str, str]) -> str:
    """Adds to the files that the job names, and returns what is to be printed: the annotations."""
    if path := environment.get("GITHUB_STEP_SUMMARY"):
        _add(Path(path), summary.render(gated).encode()[:SUMMARY_MOST].decode(errors="ignore"))
    if path := environment.get("GITHUB_OUTPUT"):
        status = int(gated.decision.status)
        _add(Path(path), f"status={status}\nrun={as_typed(gated.runs.folder)}\nfiles={as_typed(out)}\n")
    return annotated(gated)


def tell_refusal(sentence: str, status: int, environment: Mapping[str, str]) -> str:
    """The same for a gate that never ran."""
    if path := environment.get("GITHUB_OUTPUT"):
        _add(Path(path), f"status={status}\n")
    return refusal(sentence)


def _add(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
