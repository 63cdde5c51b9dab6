"""The files that a user copies: those for CI systems, and a policy with every key at its default."""

from __future__ import annotations

from pathlib import Path

from brokertrial.ci.gate import policy

FILES = {
    "github": "github/action.yml",
    "github-workflow": "github/workflow.yml",
    "gitlab": "gitlab/brokertrial.yml",
    "jenkins": "jenkins/Jenkinsfile",
}
POLICY = "policy"
NAMES = (*FILES, POLICY)


def text(name: str) -> str:
    """One of NAMES, as it is to be copied."""
    if name == POLICY:
        return (policy.__doc__ or "").partition("\n\n")[2]
    return (Path(__file__).parents[1] / "templates" / FILES[name]).read_text(encoding="utf-8")
