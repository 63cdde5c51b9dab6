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
GITLAB_FILE = yaml.safe_load((TEMPLATES / "gitlab" / "brokertrial.yml").read_text(encoding="utf-8"))
GITLAB = GITLAB_FILE["brokertrial"]
MAIN, BRANCH = {"CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main"}, {"CI_DEFAULT_BRANCH": "main"}
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


@pytest.fixture
def stub(tmp_path: Path) -> dict[str, str]:
    """A `brokertrial` that prints its arguments, one a line; for the environment of a step."""
    program = tmp_path / "bin" / "brokertrial"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    return {"PATH": f"{program.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def github(folder: Path, env: dict[str, str] | None = None, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The step `Gate` of the action, as GitHub runs it: `bash -e -o pipefail`."""
    step: dict[str, Any] = next(step for step in ACTION["runs"]["steps"] if step.get("name") == "Gate")
    given = {name: str(told.get("default", "")) for name, told in ACTION["inputs"].items()} | inputs
    told = {name: INPUT.sub(lambda found: given[found[1]], value) for name, value in step["env"].items()}
    job = {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(folder / "output"), **(env or {})}
    job["GITHUB_STEP_SUMMARY"] = str(folder / "summary")
    return run(step["run"], folder, ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"], **told, **job)


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", []),
        ("--select 'offsets/e*' --jobs 1", ["--select", "offsets/e*", "--jobs", "1"]),
        ("--select admin/a\n--select commits/b\n", ["--select", "admin/a", "--select", "commits/b"]),
        ('--claims "our claims.toml"', ["--claims", "our claims.toml"]),
    ],
)
def test_the_action_passes_every_argument_on(
    tmp_path: Path, stub: dict[str, str], arguments: str, words: list[str]
) -> None:
    done = github(tmp_path, stub, target="file:our broker.toml", arguments=arguments)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert told[:3] == ["gate", "--target", "file:our broker.toml"]
    assert told[told.index("--out") + 2 :] == words


def test_the_action_refuses_a_quote_without_an_end(tmp_path: Path, stub: dict[str, str]) -> None:
    done = github(tmp_path, stub, target="reference", arguments="--select 'offsets/ends")
    assert (done.returncode, done.stdout) == (4, "")


def test_the_jobs_of_a_matrix_share_no_name() -> None:
    """An artifact is one job's, a later category replaces an earlier one, and a cache is of one target."""
    steps = {str(step.get("uses", "")).partition("@")[0]: step.get("with", {}) for step in ACTION["runs"]["steps"]}
    cache = [steps[f"actions/cache/{what}"] for what in ("save", "restore")]
    names = [each["key"] for each in cache] + [cache[1]["restore-keys"]]
    names += [steps["actions/upload-artifact"]["name"], steps["github/codeql-action/upload-sarif"]["category"]]
    assert all("${{ inputs.name || strategy.job-index }}" in name for name in names)
    assert cache[0]["key"] == cache[1]["key"] and cache[1]["key"].startswith(cache[1]["restore-keys"].strip())


def gitlab(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The script of the job, with the variables of the pipeline and these."""
    script = "\n".join(["set -e", *GITLAB["script"]])
    return run(script, folder, ["sh", "-c"], **(GITLAB_FILE["variables"] | variables))


def test_the_job_of_gitlab_runs_the_gate(tmp_path: Path) -> None:
    (tmp_path / "known.toml").touch()
    done = gitlab(tmp_path, **MAIN, BROKERTRIAL_TARGET="reference", BROKERTRIAL_ARGUMENTS=SELECT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / ".brokertrial" / "results.jsonl").is_file()
    for report in GITLAB["artifacts"]["reports"].values():
        assert (tmp_path / report).is_file()


def test_variables_of_the_pipeline_reach_the_job_of_gitlab(tmp_path: Path, stub: dict[str, str]) -> None:
    """Those of a job outrank those of the file that includes it; so it has none of its own."""
    assert "variables" not in GITLAB
    (tmp_path / "produce").mkdir()
    (tmp_path / "produce" / "file").touch()
    given = {"BROKERTRIAL_POLICY": "our policy.toml", "BROKERTRIAL_ARGUMENTS": "--select produce/* --jobs 1"}
    done = gitlab(tmp_path, **stub, **MAIN, **given)
    told = done.stdout.splitlines()
    assert told[told.index("--policy") + 1] == "our policy.toml"
    assert told[-4:] == ["--select", "produce/*", "--jobs", "1"]


def test_only_the_default_branch_of_gitlab_writes_the_last_good_run(tmp_path: Path, stub: dict[str, str]) -> None:
    assert "--save-last" in gitlab(tmp_path, **stub, **MAIN).stdout
    assert "--save-last" not in gitlab(tmp_path, **stub, **BRANCH, CI_COMMIT_BRANCH="mine").stdout
    merge_request = gitlab(tmp_path, **stub, **BRANCH).stdout
    assert "--save-last" not in merge_request and "--last" in merge_request
    assert (GITLAB["cache"]["policy"], GITLAB_FILE["variables"]["BROKERTRIAL_CACHE"]) == ("$BROKERTRIAL_CACHE", "pull")
    writes = [rule["if"] for rule in GITLAB["rules"] if "variables" in rule]
    assert writes == ["$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"]


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
