"""What files define, and what of it is reached by whoever mentions some names.

A function, a method, a class or a value of a module is a definition; so is a name that is imported. It is reached once
something that is reached mentions its name, in whatever file: names are not resolved, so that rather too much is
reached than too little. What runs without being mentioned is reached with its file or class: statements of a module,
what an unknown decorator takes, methods that Python or a library calls.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Self

import msgspec

Wording = Callable[[object], str]
"""A syntax tree as text, of what counts."""
PLAIN_DECORATORS = {
    *("property", "setter", "cached_property", "classmethod", "staticmethod", "abstractmethod", "override", "overload"),
    *("cache", "lru_cache", "contextmanager", "asynccontextmanager", "dataclass", "total_ordering", "final", "wraps"),
}
"""What they decorate runs when it is mentioned, and not before."""
PLAIN_BASES = {
    *("object", "ABC", "Generic", "Protocol", "NamedTuple", "TypedDict", "Struct", "Exception"),
    *("Enum", "StrEnum", "IntEnum", "Flag", "IntFlag"),
}
"""They call no method of a class but those with a name of Python's; nor does any exception."""
OURS = "brokertrial"
QUERY = re.compile(r"\b(SELECT|FROM|JOIN)\b")
NAME = re.compile(r"[A-Za-z_]\w*")
DOTTED = re.compile(r"[A-Za-z_][\w.]*\Z")


class Definition(msgspec.Struct, frozen=True, array_like=True):
    """One definition of a file."""

    name: str
    """Empty for what a module does when it is imported."""
    owner: str
    """The class of a method; empty for all else."""
    text: str
    """What it says, as a hash."""
    mentions: tuple[str, ...]
    always: bool
    """Runs without being mentioned, in a file or a class that is reached."""


def definitions(module: ast.Module, said: Wording) -> tuple[Definition, ...]:
    """All that a module defines."""
    return tuple(_of_module(module, said))


def mentions(node: ast.AST) -> tuple[str, ...]:
    """The names that a definition mentions: in code, as a string that is a name, within a query."""
    return tuple(sorted({name for name in _mentioned(node) if not name.isdigit()}))


class ReachedDefinitions:
    """The definitions that are reached so far; files and names may be added in any order."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[Definition, ...]] = {}
        self._named: dict[str, tuple[tuple[str, Definition], ...]] = {}
        self._methods: dict[tuple[str, str], tuple[Definition, ...]] = {}
        self._mentioned: set[str] = set()
        self.reached: set[tuple[str, str, str, str]] = set()
        self._classes: set[tuple[str, str]] = set()
        self._sum = 0

    def copy(self) -> Self:
        """Another, which begins with what this one has reached."""
        other = copy.copy(self)
        other.files, other._named, other._methods = dict(self.files), dict(self._named), dict(self._methods)
        other._mentioned, other.reached, other._classes = set(self._mentioned), set(self.reached), set(self._classes)
        return other

    def add(self, files: Mapping[str, tuple[Definition, ...]], whole: Collection[str] = ()) -> None:
        """Files whose definitions may be reached; all of those that are `whole` are."""
        new = {file: found for file, found in files.items() if file not in self.files}
        self.files |= new
        waiting: list[tuple[str, Definition]] = []
        for file, found in new.items():
            for one in found:
                if one.name:
                    self._named[one.name] = (*self._named.get(one.name, ()), (file, one))
                if one.owner:
                    self._methods[file, one.owner] = (*self._methods.get((file, one.owner), ()), one)
                if file in whole or (not one.owner and (one.always or one.name in self._mentioned)):
                    waiting.append((file, one))
        self._take(waiting)

    def mention(self, names: Iterable[str]) -> None:
        """Reaches what has one of these names."""
        self._take(list(self._met(names)))

    def note(self, text: str) -> None:
        """Something else that counts: it changes the digest."""
        self._sum = (self._sum + _number((text, "", "", ""))) % (1 << 64)

    def digest(self) -> str:
        """Changes with what is reached, and with what it says."""
        return f"{self._sum:016x}"

    def _take(self, waiting: list[tuple[str, Definition]]) -> None:
        while waiting:
            file, one = waiting.pop()
            key = (file, one.owner, one.name, one.text)
            if key in self.reached:
                continue
            self.reached.add(key)
            self._sum = (self._sum + _number(key)) % (1 << 64)
            waiting += self._met([*one.mentions, one.name] if one.always else one.mentions)
            if not one.owner and one.name:
                self._classes.add((file, one.name))
                waiting += [(file, method) for method in self._methods.get((file, one.name), ()) if self._runs(method)]

    def _met(self, names: Iterable[str]) -> Iterator[tuple[str, Definition]]:
        for name in names:
            if name and name not in self._mentioned:
                self._mentioned.add(name)
                for file, one in self._named.get(name, ()):
                    if not one.owner or (file, one.owner) in self._classes:
                        yield file, one

    def _runs(self, method: Definition) -> bool:
        return method.always or method.name in self._mentioned


def _of_module(module: ast.Module, said: Wording) -> Iterator[Definition]:
    ours = _own_names(module)
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield _definition(node.name, node, said, always=not _is_plain(node))
        elif isinstance(node, ast.ClassDef):
            yield from _of_class(node, ours, said)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _imported(node)
        elif names := _assigned(node):
            yield from (_definition(name, node, said) for name in names)
        elif not _counts_for_nothing(node):
            yield _definition("", node, said, always=True)


def _of_class(node: ast.ClassDef, ours: Collection[str], said: Wording) -> Iterator[Definition]:
    methods = [part for part in node.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))]
    rest = copy.copy(node)
    rest.body = [part for part in node.body if part not in methods]
    yield _definition(node.name, rest, said, always=not _is_plain(node))
    called = any(_is_strange(base, ours) for base in node.bases) or any(map(_looks_up_its_own, ast.walk(node)))
    for method in methods:
        always = called or method.name.endswith("_") or not _is_plain(method)
        yield _definition(method.name, method, said, always=always, owner=node.name)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[Definition]:
    origin = getattr(node, "module", None) or ""
    for part in node.names:
        name = part.asname or part.name.partition(".")[0]
        text = _hash(f"{origin}.{part.name} as {name}")
        yield Definition(name, "", text, tuple({*part.name.split(".")} - {name}), False)


def _assigned(node: ast.stmt) -> list[str]:
    """The names that a statement gives values, where it does nothing else."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return []
    found = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    names = [part.id for part in found if isinstance(part, ast.Name)]
    return names if len(names) == len(found) else []


def _definition(name: str, node: ast.AST, said: Wording, *, always: bool = False, owner: str = "") -> Definition:
    return Definition(name, owner, _hash(said(node)), mentions(node), always)


def _mentioned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.alias):
        yield from node.name.split(".")
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _in_text(node.value)
    types = (node.annotation,) if isinstance(node, ast.arg) else (getattr(node, "returns", None),)
    for child in ast.iter_child_nodes(node):
        if child not in types and not _counts_for_nothing(child):
            yield from _mentioned(child)


def _in_text(text: str) -> list[str]:
    if QUERY.search(text):
        return NAME.findall(text)
    return text.split(".") if DOTTED.match(text) else []


def _counts_for_nothing(node: ast.AST) -> bool:
    """Docstrings, and what is there for the type checker alone."""
    words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return words or (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING")


def _is_plain(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return all(_last_name(each) in PLAIN_DECORATORS for each in node.decorator_list)


def _is_strange(base: ast.expr, ours: Collection[str]) -> bool:
    name = _last_name(base)
    first = base
    while isinstance(first, (ast.Attribute, ast.Subscript)):
        first = first.value
    known = isinstance(first, ast.Name) and first.id in ours
    return not known and name not in PLAIN_BASES and not name.endswith(("Error", "Exception"))


def _looks_up_its_own(node: ast.AST) -> bool:
    """`getattr(self, name)`: any method may be meant."""
    if not (isinstance(node, ast.Call) and _last_name(node) == "getattr" and len(node.args) > 1):
        return False
    of, name = node.args[:2]
    return isinstance(of, ast.Name) and of.id in ("self", "cls") and not isinstance(name, ast.Constant)


def _own_names(module: ast.Module) -> set[str]:
    """What the classes of a module may be built on, and is ours."""
    found = {node.name for node in module.body if isinstance(node, ast.ClassDef)}
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == OURS:
            found |= {part.asname or part.name for part in node.names}
    return found


def _last_name(node: ast.expr) -> str:
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _number(key: tuple[str, str, str, str]) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(key).encode()).digest()[:8], "big")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
