"""What a case is built from: the definitions of the probe and of the workloads that it comes to, found by name, and
what it borrows from other files of cases.

A case says `wire.commit`; the probe has a method of that name; what that method names is looked for in turn, and so on.
A method counts once its class and its name have both been met, and so do two of one name: rather too much than too
little. Comments, layout, docstrings and the annotations of parameters count for nothing: they leave a proof in force.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import msgspec

from suites.case import Case, own_nodes

HERE = Path(__file__).parent
ROOMS = {"wire": ("probe",), "trial": ("probe", "workloads")}
GIVEN = {"wire": "Wire", "nodes": "Nodes"}
"""The class of what a case is handed under a name; the workloads of a trial are handed a `wire` too."""


class Definition(msgspec.Struct, frozen=True):
    """A function, a method, a constant, or a class without its methods."""

    place: str
    name: str
    content: str
    names: frozenset[str]
    owner: str = ""
    """The class of a method that is met by its name; special methods, and all of a workload, go with the class."""


def built_from(case: Case) -> str:
    """A hash that changes when the probe or a workload changes in a way that this case can come to notice."""
    nodes = list(own_nodes(case.file.read_text(encoding="utf-8"), case.function.__name__))
    names = {name for node in nodes for name in _names(node)}
    names |= {GIVEN[word] for word in ("wire", *case.parameters) if word in GIVEN}
    found = reached(names, [*_definitions(ROOMS[case.kind]), *_borrowed(nodes)])
    return _hash(sorted(f"{one.place} {one.content}" for one in found))


def reached(names: Iterable[str], definitions: Iterable[Definition]) -> list[Definition]:
    """Every one of these definitions that the names lead to."""
    met = set(names)
    waiting = list(definitions)
    found: list[Definition] = []
    while new := [one for one in waiting if one.name in met and (not one.owner or one.owner in met)]:
        found += new
        met.update(*(one.names for one in new))
        waiting = [one for one in waiting if one not in new]
    return found


def _borrowed(nodes: Iterable[ast.AST]) -> Iterator[Definition]:
    """What other files of cases define that this one imports from."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("suites.cases."):
            path = HERE.parent.joinpath(*node.module.split(".")).with_suffix(".py")
            yield from _defined(ast.parse(path.read_text(encoding="utf-8")), node.module, by_method=False)


@cache
def _definitions(rooms: tuple[str, ...]) -> list[Definition]:
    return [
        definition
        for room in rooms
        for path in sorted((HERE / room).glob("*.py"))
        for definition in _defined(ast.parse(path.read_text(encoding="utf-8")), f"{room}/{path.stem}", room == "probe")
    ]


def _defined(module: ast.Module, file: str, by_method: bool) -> Iterator[Definition]:
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            yield from _of_class(node, f"{file}.{node.name}", by_method)
        elif isinstance(node, ast.FunctionDef):
            yield _definition(f"{file}.{node.name}", node.name, [node])
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for named in ast.walk(target):
                    if isinstance(named, ast.Name):
                        yield _definition(f"{file}.{named.id}", named.id, [node])


def _of_class(node: ast.ClassDef, place: str, by_method: bool) -> Iterator[Definition]:
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef) and not part.name.startswith("__")]
    apart = methods if by_method else []
    yield _definition(place, node.name, [*node.bases, *node.keywords, *node.decorator_list, *node.body], without=apart)
    for number, method in enumerate(apart):  # a property and its setter share a name
        yield _definition(f"{place}.{method.name}.{number}", method.name, [method], owner=node.name)


def _definition(
    place: str, name: str, nodes: Iterable[ast.AST], *, owner: str = "", without: Iterable[ast.AST] = ()
) -> Definition:
    left_out = list(without)
    kept = [node for node in nodes if node not in left_out and not _is_words(node)]
    names = frozenset(word for node in kept for word in _names(node))
    return Definition(place, name, _hash(_said(node) for node in kept), names, owner)


def _names(node: ast.AST) -> Iterator[str]:
    """Every name that code says; what annotates a parameter is not said."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    for _, value in _fields(node):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from _names(part)


def _said(node: object) -> str:
    """The syntax tree as text, of what counts."""
    if isinstance(node, list):
        return ",".join(_said(part) for part in node if not _is_words(part))
    if not isinstance(node, ast.AST):
        return repr(node)
    return f"{type(node).__name__}({','.join(f'{name}={_said(value)}' for name, value in _fields(node))})"


def _fields(node: ast.AST) -> Iterator[tuple[str, object]]:
    """What counts of a node; empty fields are left out, since Python's versions differ in them."""
    unsaid = {"ctx", "kind", "type_comment", "returns"}
    if isinstance(node, ast.arg):
        unsaid.add("annotation")
    return ((name, value) for name, value in ast.iter_fields(node) if name not in unsaid and value not in (None, []))


def _is_words(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
