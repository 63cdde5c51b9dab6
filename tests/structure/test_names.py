"""A name means one thing: classes and type aliases of the same name in several files may not become more."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "wire",
    "histories",
    "checkers",
    "faults",
    "suites",
    "spark_analysis",
    "ci",
    "reference_impl",
    "src/brokertrial",
)
SHARED_NAMES = 14
"""At most; who adds one gives another its own name."""


def defined(text: str) -> set[str]:
    """The classes and type aliases of a module, private ones too; type variables stand for nothing."""
    found = set()
    for each in ast.parse(text).body:
        if isinstance(each, ast.ClassDef):
            found.add(each.name)
        elif isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and not _is_type_variable(each):
            found.update({each.targets[0].id} if _is_class_like(each.targets[0].id) else ())
    return found


def _is_class_like(name: str) -> bool:
    return name[0].isupper() and any(letter.islower() for letter in name)


def _is_type_variable(each: ast.Assign) -> bool:
    return isinstance(each.value, ast.Call) and getattr(each.value.func, "id", "") == "TypeVar"


def test_few_names_are_defined_in_several_files() -> None:
    files: dict[str, set[str]] = defaultdict(set)
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            if not path.is_relative_to(ROOT / "src") or path.resolve().is_relative_to(ROOT / "src"):
                for name in defined(path.read_text()):
                    files[name].add(str(path.resolve().relative_to(ROOT)))
    shared = {name: sorted(where) for name, where in files.items() if len(where) > 1}
    assert len(shared) <= SHARED_NAMES, shared


def test_what_counts_as_a_name() -> None:
    text = "class A: ...\nPlace = tuple[str, int]\nT = TypeVar('T')\nLIMIT = 3\nnames = []\n"
    assert defined(text) == {"A", "Place"}
