"""A case: a permanent id, the guarantees that it decides, and one function that provokes them.

A function that takes `wire` is a wire case: it asks and states what must hold. Any other returns a Trial
(suites/trials/trial.py).
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from brokertrial import extensions
from brokertrial.faults.schedule import Window
from brokertrial.suites.capabilities import NEEDS
from brokertrial.suites.draw import Draw
from brokertrial.suites.guarantees import Guarantee, Level, guarantee
from brokertrial.suites.old_rules import since_of
from brokertrial.suites.since import Since

CASES = Path(__file__).resolve().parent / "cases"
ENDS_NODES = frozenset({"kill", "terminate"})
ParameterName = Literal[
    "wire", "topic", "topic_of", "group", "transactional_id", "rng", "nodes", "target_info", "zookeeper"
]
PARAMETERS = ("wire", "topic", "topic_of", "group", "transactional_id", "rng", "nodes", "target_info", "zookeeper")

Function = Callable[..., Any]


class BadCase(ValueError):
    """A case is declared wrongly: our mistake, found when the case is collected."""


class Case:
    """What the decorator makes of a function: everything that can be said of a case without running it."""

    def __init__(
        self,
        case_id: str,
        function: Function,
        guarantees: tuple[str, ...],
        needs: tuple[str, ...],
        apis: Mapping[str, int],
        features: Mapping[str, int],
        smoke: bool,
        level: Level | None,
        detects: tuple[str | Window, ...] = (),
        since: str = "",
    ) -> None:
        self.id = case_id
        self.function = function
        self.guarantees = guarantees
        self.needs = needs
        self.apis = dict(apis)
        self.features = dict(features)
        self.smoke = smoke
        self._level = level
        self.detects = detects
        self.since = self._parsed(since or since_of(case_id))
        self.situation: Draw | None = None
        """Where it is not met as it is written: see suites/situations."""
        self._check()

    def in_situation(self, draw: Draw, needs: Iterable[str]) -> Case:
        """The same case, met in a situation that needs so much more of the target: `area/name@situation-2`."""
        met = copy(self)
        met.id, met.situation = f"{self.id}@{draw}", draw
        met.needs = tuple(dict.fromkeys((*self.needs, *needs)))
        return met

    @property
    def plain_id(self) -> str:
        """The id of the case as it is written."""
        return self.id.partition("@")[0]

    def _parsed(self, since: str) -> Since | None:
        try:
            return Since.parse(since) if since else None
        except ValueError as error:
            raise BadCase(f"{self.id}: {error}") from error

    def _check(self) -> None:
        area, _, name = self.id.partition("/")
        if not area or not name or "/" in name or self.id != self.id.lower() or " " in self.id:
            raise BadCase(f"{self.id!r}: a case id is area/name, lower case, without spaces")
        if not self.guarantees:
            raise BadCase(f"{self.id}: names no guarantee")
        if not inspect.getdoc(self.function):
            raise BadCase(f"{self.id}: the statement is missing (the docstring's first paragraph)")
        if unknown := [need for need in self.needs if need not in NEEDS]:
            raise BadCase(f"{self.id}: unknown needs {unknown}; known: {', '.join(NEEDS)}")
        if unknown := [name for name in self.parameters if name not in PARAMETERS]:
            raise BadCase(f"{self.id}: unknown parameters {unknown}; known: {', '.join(PARAMETERS)}")

    @property
    def area(self) -> str:
        return self.id.partition("/")[0]

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.function).parameters)

    @property
    def kind(self) -> Literal["wire", "trial"]:
        return "wire" if "wire" in self.parameters else "trial"

    @property
    def hurts(self) -> bool:
        """Whether it may kill, stop or pause nodes."""
        in_situation = self.situation is not None and bool(ENDS_NODES & {*self.needs})
        return self.kind == "trial" or "nodes" in self.parameters or in_situation

    @cached_property
    def statement(self) -> str:
        """The promise in the case's own words: the first paragraph of its docstring, on one line."""
        return " ".join((inspect.getdoc(self.function) or "").split("\n\n")[0].split())

    @cached_property
    def promises(self) -> tuple[Guarantee, ...]:
        """The rows of the registry that the case decides."""
        return tuple(guarantee(name) for name in self.guarantees)

    @property
    def level(self) -> Level:
        """The strictest of its guarantees, unless the case says otherwise (a `should` half of a `must` row)."""
        if self._level is not None:
            return self._level
        levels = {entry.level for entry in self.promises}
        return "must" if "must" in levels else "should" if "should" in levels else "may"

    @property
    def bugs(self) -> tuple[str, ...]:
        """The planted bugs of the reference broker that must make it fail."""
        return tuple(entry for entry in self.detects if isinstance(entry, str))

    @property
    def tampered_responses(self) -> tuple[Window, ...]:
        """The edited answers that must, together, make it fail."""
        return tuple(entry for entry in self.detects if isinstance(entry, Window))

    @property
    def file(self) -> Path:
        return Path(inspect.getsourcefile(self.function) or "").resolve()

    @property
    def source(self) -> tuple[Path, int]:
        """Where the case is written: file and line."""
        return self.file, inspect.getsourcelines(self.function)[1]

    @cached_property
    def content_hash(self) -> str:
        """Changes with the case, its helpers and its declaration; not with comments, layout or its neighbours."""
        return _content_hash(self.file.read_text(encoding="utf-8"), self.function.__name__)

    def __repr__(self) -> str:
        return f"Case({self.id})"


def case(
    case_id: str,
    *,
    guarantee: str | None = None,
    guarantees: Iterable[str] = (),
    needs: Iterable[str] = (),
    apis: Mapping[str, int] | None = None,
    features: Mapping[str, int] | None = None,
    smoke: bool = False,
    level: Level | None = None,
    detects: Iterable[str | Window] = (),
    since: str = "",
) -> Callable[[Function], Function]:
    """Declares a case; the function itself stays callable.

    `apis` names APIs that the broker must offer, with the lowest version that will do ({"ListOffsets": 1});
    `features` the finalized features ({"transaction.version": 2}); `needs` what the target must be able to do (see
    suites/capabilities.py). What is missing makes the case not applicable. `smoke` puts it into the small profile.
    `detects` says how the case is seen to fail: planted bugs of the reference broker by id, and edited answers
    (`faults.kinds.edit_answer`) told all at once. `since` is for a rule that is younger than Kafka 3.3: "3.6
    (KIP-890)"; a target that is, or says that it follows, an older release is not judged by it. Rules that came between
    2.8 and 3.3 stand in suites/old_rules.py.
    """

    def declare(function: Function) -> Function:
        ids = (guarantee, *guarantees) if guarantee else tuple(guarantees)
        lists = tuple(needs), apis or {}, features or {}
        made = Case(case_id, function, ids, *lists, smoke, level, tuple(detects), since)
        function.case = made  # type: ignore[attr-defined]
        return function

    return declare


def cases_in(path: Path) -> list[Case]:
    """The cases of one file of suites/cases/, in the order written."""
    relative = path.resolve().relative_to(CASES).with_suffix("")
    module = importlib.import_module(".".join(("brokertrial.suites.cases", *relative.parts)))
    return cases_of(module)


def cases_of(module: Any) -> list[Case]:
    """The cases that a module declares itself."""
    functions = [value for value in vars(module).values() if isinstance(getattr(value, "case", None), Case)]
    return [function.case for function in functions if function.__module__ == module.__name__]


def case_files() -> list[Path]:
    """Every file that may hold cases: suites/cases/<area>/*.py."""
    return sorted(path for path in CASES.glob("*/*.py") if not path.name.startswith("_"))


def by_id() -> dict[str, Case]:
    """Every case by id, ours and what others contribute; two of one id are refused."""
    return _found(extensions.folders())


@cache
def _found(folders: tuple[Path, ...]) -> dict[str, Case]:
    return extensions.collected("cases", _own(), _contributed)


def _contributed(module: Any) -> list[tuple[str, Case]]:
    """The cases of somebody else's module; a guarantee that nobody knows is found here, not in a run."""
    return [(entry.id, entry) for entry in cases_of(module) if entry.promises]


@cache
def _own() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for path in case_files():
        for entry in cases_in(path):
            if entry.id in found:
                first, again = (file.relative_to(CASES).as_posix() for file in (found[entry.id].file, path))
                raise BadCase(f"{entry.id} is declared twice: in suites/cases/{first} and suites/cases/{again}.")
            found[entry.id] = entry
    return found


def all_cases() -> list[Case]:
    """Every case, in the order of areas and files; those of others come last."""
    return list(by_id().values())


def own_cases() -> list[Case]:
    """Every case of this suite: those that its proof record and its planted bugs speak of."""
    return list(_own().values())


def own_nodes(source: str, function_name: str) -> Iterator[ast.stmt]:
    """What a module holds for one of its cases: everything but the other cases and the docstring."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name != function_name and is_case(node):
            continue
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield node


def _content_hash(source: str, function_name: str) -> str:
    """Hash of a module's lines without the other cases; of lines, since a syntax tree differs by Python version."""
    lines = source.splitlines()
    kept: list[str] = []
    for node in own_nodes(source, function_name):
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        kept += lines[first - 1 : node.end_lineno]
    words = [line.strip() for line in kept]
    text = "\n".join(line for line in words if line and not line.startswith("#"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_case(node: ast.FunctionDef) -> bool:
    """Whether a function of a module is declared to be a case."""
    return any(
        isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "case"
        for decorator in node.decorator_list
    )
