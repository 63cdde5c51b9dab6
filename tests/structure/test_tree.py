"""The shape of the tree: small files, said purposes, layers, nothing of anybody's machine, nothing undeclared."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SHIPPED = sorted(link.name for link in (ROOT / "src" / "brokertrial").iterdir() if (link / "__init__.py").is_file())
LONGEST = 400
GENERATED = re.compile(r"vectors|golden|error_codes\.py$")
PATHS = re.compile(r"(?<![\w./])/(?:home|Users|work)/[a-z]\w*/|(?<![\w./])/root/")
ADDRESS = re.compile(r"index-url|find-links|://")
IMPORT_NAMES = {
    "google-crc32c": "google_crc32c",
    "google-re2": "re2",
    "toxiproxy-python": "toxiproxy",
    "confluent-kafka": "confluent_kafka",
}
TOLD_APART = {"jinja2": "markupsafe"}  # a dependency of jinja2 by its own declaration


def tracked() -> list[Path]:
    """Every file of the project, as git knows it, or as a source distribution holds it."""
    try:
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return [path for name in [*SHIPPED, "tests"] for path in (ROOT / name).rglob("*.*") if path.is_file()]
    return [path for name in listed.splitlines() if (path := ROOT / name).is_file()]


def python_files() -> Iterator[Path]:
    return (path for path in tracked() if path.suffix == ".py")


def test_no_hand_written_file_is_too_long() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in python_files()
        if not GENERATED.search(path.name) and (lines := path.read_text(encoding="utf-8").count("\n")) > LONGEST
    }
    assert long == {}, "split them by noun"


def test_nothing_of_a_machine_is_in_a_file() -> None:
    found = []
    for path in tracked():
        if path == Path(__file__) or path.suffix in {".svg", ".png", ".jar", ".gz"}:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match.group()}" for match in PATHS.finditer(text)]
    assert found == []


def test_the_pinned_versions_carry_no_address() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if ADDRESS.search(line)] == []
    assert [line for line in lines if not line.startswith("#") and not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_every_dependency_is_pinned() -> None:
    project = PROJECT["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    names = {re.split(r"[><=\[]", requirement)[0].lower() for requirement in wanted}
    pinned = {line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert names - pinned == set()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_folder_says_what_it_is_for(name: str) -> None:
    docstring = ast.get_docstring(ast.parse((ROOT / name / "__init__.py").read_text(encoding="utf-8")))
    assert docstring and docstring.splitlines()[0].endswith(".")


def test_every_module_says_what_it_promises() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in python_files()
        if path.stat().st_size and ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) is None
    ]
    assert silent == []


def test_no_module_is_called_utils() -> None:
    assert [
        str(path.relative_to(ROOT)) for path in python_files() if path.stem in {"utils", "util", "helpers", "misc"}
    ] == []


def _catches_import_error(node: ast.Try) -> bool:
    return any(isinstance(handler.type, ast.Name) and handler.type.id == "ImportError" for handler in node.handlers)


def imported(path: Path) -> Iterator[str]:
    """The top-level names that a file cannot do without: not those that it tries and replaces."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tried = [node for node in ast.walk(tree) if isinstance(node, ast.Try) and _catches_import_error(node)]
    optional = {id(inner) for node in tried for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in optional:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_what_is_shipped_imports_only_what_is_declared() -> None:
    project = PROJECT["project"]
    extras = [name for extra, names in project["optional-dependencies"].items() if extra != "dev" for name in names]
    declared = {re.split(r"[><=\[]", name)[0] for name in [*project["dependencies"], *extras]}
    allowed = {IMPORT_NAMES.get(name, name) for name in declared} | set(TOLD_APART.values())
    foreign = {
        f"{path.relative_to(ROOT)}: {name}"
        for folder in SHIPPED
        for path in (ROOT / folder).rglob("*.py")
        for name in imported(path)
        if name not in sys.stdlib_module_names and name != "brokertrial" and name not in allowed
    }
    assert foreign == set()


def test_the_layers_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
