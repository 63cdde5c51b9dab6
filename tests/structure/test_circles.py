"""No modules import each other in a circle: whoever reads one of them need not read the others first."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("wire", "histories", "checkers", "faults", "reference_impl", "suites", "spark_analysis", "ci")
Graph = Mapping[str, set[str]]


def modules(folder: str) -> dict[str, Path]:
    """The modules of a folder by their names."""
    found = {}
    for path in (ROOT / folder).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(("brokertrial", *(part for part in parts if part != "__init__")))] = path
    return found


def imports(text: str, known: Mapping[str, object]) -> Iterator[str]:
    """Which known modules a text imports, anywhere in it: inside a function and under TYPE_CHECKING too, since who
    only names a type must still know of it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield from (name for name in ([inner] if inner in known else [node.module]) if name in known)


def circles(graph: Graph) -> list[list[str]]:
    """The groups of modules that reach each other."""
    reached = {name: _reached(graph, name) for name in graph}
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in graph}
    return sorted(sorted(group) for group in groups if group)


def _reached(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_circle_of_imports(folder: str) -> None:
    known = modules(folder)
    graph = {name: set(imports(path.read_text(encoding="utf-8"), known)) for name, path in known.items()}
    assert len(graph) > 1
    assert circles(graph) == []


def test_a_circle_is_found_wherever_the_import_stands() -> None:
    texts = {
        "p.a": "from p import b\nfrom p.d import name",
        "p.b": "def f():\n    import p.c",
        "p.c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import Name",
        "p.d": "import os",
    }
    graph = {name: set(imports(text, texts)) for name, text in texts.items()}
    assert circles(graph) == [["p.a", "p.b", "p.c"]]
