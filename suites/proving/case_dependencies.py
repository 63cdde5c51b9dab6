"""What a verdict on a case comes from: the case's own text, and the files under it.

The text is the case's function and its declaration, without `detects`: who changes it makes another case, which has to
be proven anew. Under it lies every file that it comes to by imports, from its own and from what runs and judges such
cases; of files of cases only what their cases share. A proof outlives a change there, and is then due for
renewal. Comments, layout and docstrings count for nothing, nor do the annotations of parameters.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from brokertrial.suites.case import Case, is_case
from brokertrial.suites.proving import definitions
from brokertrial.suites.proving.definitions import ReachedDefinitions
from brokertrial.suites.proving.parse_cache import ParseCache, ParsedFile, in_cache

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = "wire/schema"
"""Kafka's message definitions: one of the files, as far as this is concerned."""
JUDGES = {
    "wire": ("suites/probe/run_case.py", "suites/probe/default_topics.py"),
    "trial": ("suites/trials/attempt.py", "suites/probe/default_topics.py", "checkers/checks/*.py"),
}
"""Where the running and the judging of a case begin."""
TOPS = {"wire": ("wire", "checkers", "suites"), "trial": ("wire", "histories", "checkers", "faults", "suites")}
"""A wire case has no faults: it only names some in its `detects`."""
PACKAGE = "brokertrial."
DECLARES = "suites/case.py"
"""How cases are declared and found: no verdict comes from it."""
PARSED = ParseCache(in_cache(Path(__file__), Path(definitions.__file__)))


def text_hash(case: Case) -> str:
    """Changes with the case itself."""
    return _texts_in(case.file)[case.function.__name__]


def text_of(source: str, function_name: str) -> str:
    """The hash of one case in a file."""
    return _texts(source)[function_name]


@cache
def _texts_in(file: Path) -> Mapping[str, str]:
    return _texts(file.read_text(encoding="utf-8"))


def _texts(source: str) -> Mapping[str, str]:
    """The hash of each function, without its name and what it detects."""
    found = {}
    for node in _without_own_names(ast.parse(source)).body:
        if isinstance(node, ast.FunctionDef):
            for call in node.decorator_list:
                if isinstance(call, ast.Call):
                    call.keywords = [word for word in call.keywords if word.arg != "detects"]
            name, node.name = node.name, ""
            found[name] = _hash(_said(node))
    return found


def under(case: Case) -> frozenset[str]:
    """The files under a case, named from the root of the project."""
    return files_from(str(case.file.relative_to(ROOT)), case.kind)


@cache
def files_from(file: str, kind: str, root: Path = ROOT) -> frozenset[str]:
    """The file of a case and what it comes to, by imports."""
    return reached([file, *judges_of(kind, root)], TOPS[kind], root) | {SCHEMA}


@cache
def judges_of(kind: str, root: Path = ROOT) -> tuple[str, ...]:
    """The files that run and judge such cases, without what they import."""
    return tuple(path.relative_to(root).as_posix() for name in JUDGES[kind] for path in sorted(root.glob(name)))


def reached(files: Iterable[str], inside: str | tuple[str, ...], root: Path = ROOT) -> frozenset[str]:
    """The files and all that they come to by imports, as far as it lies inside of these folders."""
    found: set[str] = set()
    waiting = list(files)
    while waiting:
        if (name := waiting.pop()) not in found and name != DECLARES:
            found.add(name)
            waiting += [other for other in _imported(name, root) if other.startswith(inside)]
    return frozenset(found)


def under_hash(case: Case) -> str:
    """Changes with what a case reaches of what lies under it."""
    return _under_hash(str(case.file.relative_to(ROOT)), case.function.__name__, case.kind)


@cache
def _under_hash(file: str, function: str, kind: str) -> str:
    return reach_of(file, function, kind).digest()


def reach_of(file: str, function: str, kind: str, root: Path = ROOT) -> ReachedDefinitions:
    """What a case reaches, named by its file and its function."""
    found = _reached_by_judges(kind, root).copy()
    found.add(_defined(files_from(file, kind, root), root))
    found.mention(_parsed_file(file, root).cases[function])
    return found


@cache
def _reached_by_judges(kind: str, root: Path) -> ReachedDefinitions:
    """What every such case reaches."""
    judges = judges_of(kind, root)
    found = ReachedDefinitions()
    found.add(_defined(reached(judges, TOPS[kind], root), root), whole=judges)
    found.note(_content(SCHEMA, root))
    return found


def _defined(files: Iterable[str], root: Path) -> dict[str, tuple[definitions.Definition, ...]]:
    return {file: _parsed_file(file, root).definitions for file in files if file != SCHEMA}


def state_of(files: Iterable[str], root: Path = ROOT) -> dict[str, str]:
    """What these files say, each as a hash."""
    return {file: _content(file, root) for file in sorted(files)}


def changed(case: Case, then: Mapping[str, str]) -> tuple[str, ...]:
    """The files under a case that do not say what they said then."""
    return tuple(file for file, content in state_of(under(case)).items() if then.get(file) != content)


@cache
def _imported(file: str, root: Path) -> tuple[str, ...]:
    """The files of ours that a file imports, wherever in it."""
    return tuple(name for name in _parsed_file(file, root).imports if (root / name).is_file())


@cache
def _content(file: str, root: Path) -> str:
    if file == SCHEMA:
        return _hash("".join(path.read_text(encoding="utf-8") for path in sorted((root / SCHEMA).glob("*.txt"))))
    return _parsed_file(file, root).content


@cache
def _parsed_file(file: str, root: Path) -> ParsedFile:
    return PARSED.of(file, (root / file).read_bytes(), _parsed)


def _parsed(file: str, text: bytes) -> ParsedFile:
    module = ast.parse(text)
    imports = _imports(module)
    module = _without_own_names(module)
    cases = [node for node in module.body if isinstance(node, ast.FunctionDef) and is_case(node)]
    if file.startswith("suites/cases/"):
        module.body = [node for node in module.body if node not in cases]
    mentioned = {node.name: definitions.mentions(node) for node in cases}
    return ParsedFile(imports, _hash(_said(module)), definitions.definitions(module, _said), mentioned)


def _imports(module: ast.Module) -> tuple[str, ...]:
    """The files that could be meant."""
    modules: set[str] = set()
    for node in _nodes(module):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{part.name}" for part in node.names)}
        elif isinstance(node, ast.Import):
            modules |= {part.name for part in node.names}
    ours = [module.removeprefix(PACKAGE) for module in modules if module.startswith(PACKAGE)]
    stems = [module.replace(".", "/") for module in ours if module.partition(".")[0] in TOPS["trial"]]
    return tuple(sorted(name for stem in stems for name in (f"{stem}.py", f"{stem}/__init__.py")))


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All of a module but what is there for the type checker alone."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"):
            yield child
            yield from _nodes(child)


def _without_own_names(module: ast.Module) -> ast.Module:
    """The module with numbers for what its functions call their variables.

    Parameters keep their names, by which they are given. So does what has the name of a parameter, of something in the
    module or of something in Python: with another name it could mean another thing.
    """
    taken = {name for node in module.body for name in _names_given(node)} | set(dir(builtins))
    for function in _outer_functions(module):
        inside = list(ast.walk(function))
        kept = taken.union(*(_names_given(node) for node in inside if isinstance(node, (ast.ClassDef, ast.arg))))
        variables = {name for node in inside for name in _stored(node)} - kept
        numbers: dict[str, str] = {}
        for node in inside:
            if isinstance(node, ast.Name) and node.id in variables:
                node.id = numbers.setdefault(node.id, str(len(numbers)))
    return module


def _outer_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield child
        else:
            yield from _outer_functions(child)


def _names_given(node: ast.AST) -> Iterator[str]:
    """The names that others may know: of functions, classes and what they hold, parameters, imports, values."""
    if isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        for statement in node.body if isinstance(node, ast.ClassDef) else ():
            yield from _names_given(statement)
    else:
        for part in ast.walk(node):
            yield from [part.asname or part.name.partition(".")[0]] if isinstance(part, ast.alias) else _stored(part)


def _stored(node: ast.AST) -> tuple[str, ...]:
    return (node.id,) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ()


def _said(node: object) -> str:
    """The syntax tree as text, of what counts; empty fields are left out, since Python's versions differ in them."""
    if isinstance(node, list):
        return ",".join(_said(part) for part in node if not _is_words(part))
    if not isinstance(node, ast.AST):
        return repr(node)
    unsaid = {"ctx", "kind", "type_comment", "type_ignores", "returns"}
    unsaid |= {"annotation"} if isinstance(node, ast.arg) else set()
    fields = ((name, value) for name, value in ast.iter_fields(node) if name not in unsaid and value not in (None, []))
    return f"{type(node).__name__}({','.join(f'{name}={_said(value)}' for name, value in fields)})"


def _is_words(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
