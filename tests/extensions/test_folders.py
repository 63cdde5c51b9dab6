"""`--cases DIR`: case files without a package, for the command line, pytest and a Python caller."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokertrial import extensions
from brokertrial.ci.cli import main
from brokertrial.extensions import BrokenExtension
from brokertrial.suites.case import by_id
from brokertrial.suites.guarantees import registry
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import run

ROOT = Path(__file__).resolve().parents[2]
CASE = '''"""Cases of a folder."""

from brokertrial.suites.case import case

from .._shared import batched


@case("mine/written-and-read", guarantee="mine-001")
def what_is_written_is_read(wire, topic):
    """A record that was acknowledged MUST be read."""
    wire.produce(topic, batched()).must_be_at(0)
    wire.read_all(topic).must_hold("a", "b")
'''
SHARED = '''"""What the files share."""

from brokertrial.suites.probe import batch


def batched():
    return batch("a", "b")
'''
GUARANTEE = """
[[guarantee]]
id = "mine-001"
statement = "What is acknowledged is read."
level = "must"
as_written = "MUST"
source = "ours"
link = ""
"""


@pytest.fixture
def cases(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "my cases"
    (folder / "mine").mkdir(parents=True)
    (folder / "mine" / "reading.py").write_text(CASE, encoding="utf-8")
    (folder / "_shared.py").write_text(SHARED, encoding="utf-8")
    (folder / "mine.toml").write_text(GUARANTEE, encoding="utf-8")
    yield folder
    extensions.use_folders(())


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0), *capsys.readouterr()


def test_a_caller_in_python(cases: Path, tmp_path: Path) -> None:
    options = RunOptions("reference", select=("mine/*",), cases=(str(cases),), run_dir=str(tmp_path / "run"))
    result = run(options)
    assert [(each.case, str(each.verdict)) for each in result.results] == [("mine/written-and-read", "pass")]
    assert by_id()["mine/written-and-read"].promises[0].area == "mine"


def test_another_run_without_the_folder_does_not_know_them(cases: Path) -> None:
    extensions.use_folders((cases,))
    assert "mine/written-and-read" in by_id() and "mine-001" in registry()
    extensions.use_folders(())
    assert "mine/written-and-read" not in by_id() and "mine-001" not in registry()


def test_the_command_line(cases: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    outside = ("--cases", str(cases))
    runs = ("--runs", str(tmp_path / "runs"))
    with pytest.raises(SystemExit) as ended:
        main(["run", "--target", "reference", "--select", "mine/*", *outside, *runs])
    assert ended.value.code == 0, capfd.readouterr()
    folder = str(next((tmp_path / "runs").iterdir()))
    assert said(capfd, "check", folder, *outside)[0] == 0
    status, out, _ = said(capfd, "check", folder)
    assert status == 4 or "--cases" in out
    assert said(capfd, "replay", f"{folder}/mine/written-and-read", *outside, *runs)[0] == 0
    main(["cases", *outside])
    assert f"from {cases}" in capfd.readouterr().out


def test_pytest(cases: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "pytest", "-p", "brokertrial", "-p", "no:cacheprovider", "-q"]
    command += ["--target", "reference", "--cases", str(cases), "--select", "mine/*", "--run-dir", str(tmp_path / "r")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, check=False)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BrokenExtension, match="there is no such folder of cases"):
        RunOptions("reference", cases=(str(tmp_path / "none"),)).validated()


def test_a_file_that_is_broken(cases: Path) -> None:
    (cases / "mine" / "wrong.py").write_text("1 / 0\n", encoding="utf-8")
    with pytest.raises(BrokenExtension, match=r"wrong\.py cannot be used: ZeroDivisionError"):
        RunOptions("reference", cases=(str(cases),)).validated()
