"""The example package, installed: what it contributes is found, listed, run, judged again, replayed, reported."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.extensions.environment import EXAMPLE, Environment, tiny_wheel

pytestmark = pytest.mark.long

CASES, TRIAL = "example/*", "example/jittery-answers"
ROOT = EXAMPLE.parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
JUDGED = (
    "import sys; from brokertrial.histories.reader import History; from brokertrial.checkers.judge import judge; "
    "from pathlib import Path; print(judge(History.open(Path(sys.argv[1])), ['negative-offset']).judged)"
)
"""Prints the names of the checks that judged a stored history, of those that were asked to."""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("example") / "env")
    made.install(EXAMPLE)
    return made


@pytest.fixture(scope="module")
def finished(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    done = environment.run("run", "--target", "example", "--select", CASES, "--seed", "7", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return next((folder / "runs").iterdir())


def test_it_is_listed_with_where_it_comes_from(environment: Environment, tmp_path: Path) -> None:
    cases = environment.run("cases", cwd=tmp_path).stdout.splitlines()
    found = next(number for number, line in enumerate(cases) if line.startswith("example/first-record"))
    assert "must   example-001, prod-001" in cases[found] and "from brokertrial-example 1.0" in cases[found + 2]
    targets = environment.run("targets", cwd=tmp_path).stdout
    assert "one broker of the example package (from brokertrial-example 1.0)" in targets
    doctor = environment.run("doctor", cwd=tmp_path).stdout
    assert "brokertrial-example 1.0 (cases: example/first-record, example/jittery-answers; " in doctor
    assert "checks: negative-offset; faults: jitter; targets: example)" in doctor


def test_its_cases_ran_on_its_target_under_its_fault_and_by_its_check(finished: Path) -> None:
    lines = [json.loads(line) for line in (finished / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[0]["run"]["target_version"] == "1.0 of the example"
    results = {line["result"]["case"]: line["result"] for line in lines if "result" in line}
    assert {name: result["verdict"] for name, result in results.items()} == {
        "example/first-record": "pass",
        TRIAL: "pass",
    }
    assert results[TRIAL]["facts"]["hits of f1"] > 20
    report = (finished / "report.html").read_text(encoding="utf-8")
    assert "example-001" in report and "example/first-record" in report


def test_its_check_judges_the_stored_history(environment: Environment, finished: Path) -> None:
    history = str(finished / "histories" / TRIAL.replace("/", "."))
    assert environment.call("-c", JUDGED, history, cwd=finished).stdout.strip() == "['negative-offset']"


def test_it_is_judged_again_and_replayed(environment: Environment, finished: Path, tmp_path: Path) -> None:
    again = environment.run("check", str(finished), cwd=tmp_path)
    assert again.returncode == 0 and "2 passed" in again.stdout, again.stdout + again.stderr
    replayed = environment.run("replay", f"{finished}/{TRIAL}", cwd=tmp_path)
    assert replayed.returncode == 0 and "Passed again: 1 of 1." in replayed.stdout, replayed.stdout + replayed.stderr


def test_without_a_proof_it_can_only_warn_and_with_one_it_accuses(environment: Environment, tmp_path: Path) -> None:
    folder = tmp_path / "cases"
    folder.mkdir()
    source = (EXAMPLE / "brokertrial_example" / "cases" / "example.py").read_text(encoding="utf-8")
    (folder / "mine.py").write_text(source.replace("example/", "mine/"), encoding="utf-8")
    arguments = ("run", "--target", "reference?mutant=M07a", "--select", "mine/first-record", "--cases", str(folder))
    warned = environment.run(*arguments, cwd=tmp_path)
    assert warned.returncode == 5 and "0 failed, 1 warning" in warned.stdout, warned.stdout + warned.stderr
    _prove(environment, folder)
    accused = environment.run(*arguments, cwd=tmp_path)
    assert accused.returncode == 1 and "1 failed" in accused.stdout, accused.stdout + accused.stderr


def test_a_proof_is_made_of_runs(environment: Environment, tmp_path: Path) -> None:
    folder = tmp_path / "cases"
    shutil.copytree(EXAMPLE / "brokertrial_example" / "cases", folder, ignore=shutil.ignore_patterns("__init__.py"))
    source = (folder / "example.py").read_text(encoding="utf-8").replace('"example/', '"mine/')
    (folder / "example.py").write_text(source, encoding="utf-8")
    (folder / "example.toml").unlink()
    arguments = ("--target", "reference?mutant=M07a", "--select", "mine/first-record", "--cases", str(folder))
    environment.run("run", *arguments, "--unproven", "fail", cwd=tmp_path)
    run = next((tmp_path / "runs").iterdir())
    done = environment.run("prove", str(run), "--cases", str(folder), cwd=tmp_path)
    assert done.returncode == 0 and "mine/first-record: failed by M07a" in done.stdout, done.stdout + done.stderr
    record = json.loads((folder / "proof_record.json").read_text(encoding="utf-8"))
    assert record["cases"]["mine/first-record"]["fails_with"] == ["M07a"]


def _prove(environment: Environment, folder: Path) -> None:
    """As `brokertrial prove` does of a run on Apache Kafka; there is none here."""
    script = (
        "import sys; from pathlib import Path; from brokertrial import extensions; "
        "from brokertrial.suites.case import by_id; "
        "from brokertrial.suites.proving.proof_record import KafkaPass, ProofRecord, write; "
        "extensions.use_folders([sys.argv[1]]); record = ProofRecord(); "
        "record.passed(by_id()['mine/first-record'], KafkaPass('4.4.0', 1, '2026-11-20', '')); "
        "write(Path(sys.argv[1], 'proof_record.json'), record)"
    )
    done = environment.call("-c", script, str(folder), cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_installed_by_pip_beside_the_wheel(tmp_path: Path) -> None:
    """As a stranger has it: both built, and installed where packages called `ci` and `wire` are already."""
    environment = Environment(tmp_path / "env", alone=True)
    theirs = [tiny_wheel(tmp_path, name) for name in ("ci", "wire")]
    _pip(environment, "--no-deps", "--no-index", *theirs)
    _pip(environment, "-c", CONSTRAINTS, ROOT)
    _pip(environment, "--no-deps", EXAMPLE)
    script = "import ci, wire, brokertrial.ci.cli, brokertrial.wire; print(ci.WHOSE, wire.WHOSE, sep='; ')"
    assert environment.call("-c", script, cwd=tmp_path).stdout == "the user, ci; the user, wire\n"
    assert "from brokertrial-example 1.0" in environment.run("cases", cwd=tmp_path).stdout
    done = environment.run("run", "--target", "example", "--select", CASES, cwd=tmp_path)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout + done.stderr
    run = next((tmp_path / "runs").iterdir())
    results = (run / "results.jsonl").read_text(encoding="utf-8")
    assert '"hits of f1"' in results, "its kind of fault was at work"
    history = run / "histories" / TRIAL.replace("/", ".")
    assert environment.call("-c", JUDGED, str(history), cwd=tmp_path).stdout.strip() == "['negative-offset']"
    assert "2 passed" in environment.run("check", str(run), cwd=tmp_path).stdout
    assert environment.call("-m", "pip", "check", cwd=tmp_path).returncode == 0


def _pip(environment: Environment, *arguments: str | Path) -> None:
    subprocess.run([environment.python, "-m", "pip", "install", "-q", *arguments], check=True, timeout=600)
