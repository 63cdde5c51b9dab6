"""The templates for CI systems: each is valid for its system, and its shell steps do what they say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "ci" / "templates"
ACTION = yaml.safe_load((TEMPLATES / "github" / "action.yml").read_text(encoding="utf-8"))
GITLAB = yaml.safe_load((TEMPLATES / "gitlab" / "brokertrial.yml").read_text(encoding="utf-8"))["brokertrial"]
JENKINS = (TEMPLATES / "jenkins" / "Jenkinsfile").read_text(encoding="utf-8")
SELECT = "--select ordering/offsets-rise --require none --jobs 1 --seed 1"
BREAKS_IT = "reference?mutant=M05"
INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-actions", "github/action.yml"),
        ("vendor.github-workflows", "github/workflow.yml"),
        ("vendor.gitlab-ci", "gitlab/brokertrial.yml"),
    ],
)
def test_a_template_is_valid(schema: str, file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(TEMPLATES / file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go: actionlint is a Go module")
def test_the_workflow_and_the_script_of_the_action_are_clean(tmp_path: Path) -> None:
    workflows = tmp_path / ".github" / "workflows"
    workflows.mkdir(parents=True)
    shutil.copy(TEMPLATES / "github" / "workflow.yml", workflows)
    (tmp_path / ".git").mkdir()
    command = ["go", "run", "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", ["gate.md"])
def test_the_page_shows_the_templates_as_they_are(file: str) -> None:
    page = (ROOT / "docs" / file).read_text(encoding="utf-8")
    assert (TEMPLATES / "github" / "workflow.yml").read_text(encoding="utf-8").strip() in page


def run(script: str, folder: Path, shell: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """A step in its shell, with our `brokertrial` first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    return subprocess.run(
        [*shell, script],
        cwd=folder,
        env=clean | {"PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def github(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The step `Gate` of the action, as GitHub runs it: `bash -e -o pipefail`."""
    step: dict[str, Any] = next(step for step in ACTION["runs"]["steps"] if step.get("name") == "Gate")
    given = {name: str(told.get("default", "")) for name, told in ACTION["inputs"].items()} | inputs
    env = {name: INPUT.sub(lambda found: given[found[1]], value) for name, value in step["env"].items()}
    job = {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(folder / "output")}
    job["GITHUB_STEP_SUMMARY"] = str(folder / "summary")
    return run(step["run"], folder, ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"], **env, **job)


def test_the_action_is_green_on_a_healthy_broker_and_red_on_one_that_breaks_a_promise(tmp_path: Path) -> None:
    (tmp_path / "known.toml").touch()
    (tmp_path / "policy.toml").write_text("inconclusive = 1\n")
    done = github(tmp_path, target="reference", arguments=SELECT, policy="policy.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / ".brokertrial" / "results.jsonl").is_file()
    assert "::error" not in done.stdout
    done = github(tmp_path, target=BREAKS_IT, arguments=SELECT.replace("offsets-rise", "one-connection"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "::error title=new%3A ordering/one-connection::" in done.stdout
    assert "status=1\n" in (tmp_path / "output").read_text()
    assert "brokertrial gate failed" in (tmp_path / "summary").read_text()
    assert json.loads((tmp_path / "gate" / "gate.json").read_text())["findings"][0]["kind"] == "new"


def test_the_action_has_no_input_inside_a_script() -> None:
    """An expression in a script is replaced before the shell reads it: a branch name could be a command."""
    assert not [step for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")]


def test_the_job_of_gitlab_runs_the_gate(tmp_path: Path) -> None:
    (tmp_path / "known.toml").touch()
    variables = GITLAB["variables"] | {"BROKERTRIAL_TARGET": "reference", "BROKERTRIAL_ARGUMENTS": SELECT}
    done = run("\n".join(["set -e", *GITLAB["script"]]), tmp_path, ["sh", "-c"], **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    for report in GITLAB["artifacts"]["reports"].values():
        assert (tmp_path / report).is_file()


def test_the_pipeline_of_jenkins_runs_the_gate(tmp_path: Path) -> None:
    steps = re.findall(r"sh '''\n(.*?)'''", JENKINS, re.DOTALL)
    gate = steps[-1].replace("\\\n", "\n").replace("\n" + " " * 24, " ")  # Groovy joins what `\` ends
    variables = dict(re.findall(r"(BROKERTRIAL_\w+) = '(.*)'", JENKINS))
    variables |= {"BROKERTRIAL_TARGET": "reference", "BROKERTRIAL_ARGUMENTS": SELECT}
    (tmp_path / "known.toml").touch()
    done = run(gate, tmp_path, ["sh", "-xec"], **variables)
    assert len(steps) == 2
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "gate" / "junit.xml").is_file()
