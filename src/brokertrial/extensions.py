"""What others contribute: cases, checks, kinds of fault and targets of installed packages, and folders of case files.

A package names its modules in the entry points `brokertrial.cases`, `.checks`, `.faults` and `.targets`; a folder of
case files needs no package (`--cases DIR`). What is found there is in the same registries as ours. See
docs/extending.md.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeVar

GROUPS = ("cases", "checks", "faults", "targets")
OURS = "brokertrial"
_Thing = TypeVar("_Thing")
_folders: tuple[Path, ...] = ()
_sources: dict[tuple[str, str], ExtensionSource] = {}


class BrokenExtension(ValueError):
    """A contribution that cannot be used; one sentence names the package, the file and what is wrong."""


class ExtensionSource(NamedTuple):
    """One place that contributes: a module of an installed package, or a folder of case files."""

    origin: str
    """The package with its version, or the folder."""
    module: str
    place: Path
    """The file of the module, or the folder."""

    @property
    def folder(self) -> Path:
        """Where guarantees and the proof record lie beside it."""
        return self.place if self.place.is_dir() else self.place.parent


def use_folders(folders: Iterable[str | Path]) -> None:
    """From now on, in this process, the cases of these folders are known beside those that are installed."""
    global _folders
    chosen = tuple(dict.fromkeys(Path(folder).resolve() for folder in folders))
    for folder in chosen:
        if not folder.is_dir():
            raise BrokenExtension(f"{folder}: there is no such folder of cases.")
    _folders = chosen


def folders() -> tuple[Path, ...]:
    """The folders of cases that are known in this process."""
    return _folders


def sources(group: str) -> list[ExtensionSource]:
    """Who contributes to a group, in an order that does not depend on the machine."""
    named = sorted(_installed_points()[group], key=lambda point: (_package(point), point.name))
    return [_installed(point) for point in named] + [_of_folder(each) for each in _folders if group == "cases"]


@cache
def _installed_points() -> dict[str, tuple[EntryPoint, ...]]:
    """By group; finding them reads the metadata of every package there is."""
    every = entry_points()
    return {group: tuple(every.select(group=f"{OURS}.{group}")) for group in GROUPS}


def collected(
    group: str, own: Mapping[str, _Thing], read: Callable[[ModuleType], Iterable[tuple[str, _Thing]]]
) -> dict[str, _Thing]:
    """`own` and what others contribute to a group, by name; `read` says what a module of theirs holds."""
    found = dict(own)
    for place in [place for place in _sources if place[0] == group]:
        del _sources[place]
    for source in sources(group):
        for name in _modules(source):
            for key, thing in _read(source, name, read):
                if key in found:
                    first = origin(group, key) or OURS
                    raise BrokenExtension(f"{group}: {key!r} is in {first} and again in {_said(source, name)}.")
                found[key] = thing
                _sources[group, key] = source
    return found


def origin(group: str, name: str) -> str:
    """The package or folder that something of a group came from; empty where it is ours."""
    source = source_of(group, name)
    return source.origin if source else ""


def source_of(group: str, name: str) -> ExtensionSource | None:
    """Who contributed something of a group, once it has been collected; None where it is ours."""
    return _sources.get((group, name))


def contributed() -> dict[str, dict[str, list[str]]]:
    """The names of what others contribute, by origin and group, as far as it has been collected."""
    found: dict[str, dict[str, list[str]]] = {}
    for (group, name), source in _sources.items():
        found.setdefault(source.origin, {}).setdefault(group, []).append(name)
    return found


def _installed(point: EntryPoint) -> ExtensionSource:
    where = f"{_package(point)}: its entry point brokertrial.{point.group.rpartition('.')[2]} names {point.value!r}"
    try:
        spec = importlib.util.find_spec(point.module)
    except Exception as error:
        raise BrokenExtension(f"{where}, which cannot be loaded: {type(error).__name__}: {error}.") from error
    if spec is None or spec.origin is None:
        raise BrokenExtension(f"{where}, and there is no such module.")
    return ExtensionSource(_package(point), point.module, Path(spec.origin))


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "a package without a name"


def _of_folder(folder: Path) -> ExtensionSource:
    return ExtensionSource(str(folder), _package_over(folder), folder)


@cache
def _package_over(folder: Path) -> str:
    """A package of its own over a folder of files, so that they may import each other and shadow nothing."""
    name = f"brokertrial_cases_{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"
    package = ModuleType(name, f"The case files of {folder}.")
    package.__path__ = [str(folder)]
    sys.modules[name] = package
    return name


def _modules(source: ExtensionSource) -> Iterator[str]:
    """The module of a source; where it is a package, every module under it that is not private."""
    with _naming(source, source.module):
        package = importlib.import_module(source.module)
    yield source.module
    for path in getattr(package, "__path__", ()):
        for file in sorted((*Path(path).glob("*.py"), *Path(path).glob("[!_.]*/*.py"))):
            if not file.name.startswith("_"):
                yield ".".join((source.module, *file.relative_to(path).with_suffix("").parts))


def _read(
    source: ExtensionSource, name: str, read: Callable[[ModuleType], Iterable[tuple[str, _Thing]]]
) -> list[tuple[str, _Thing]]:
    with _naming(source, name):
        return list(read(importlib.import_module(name)))


class _naming:
    """Whatever goes wrong inside is said in one sentence, with the package and the file."""

    def __init__(self, source: ExtensionSource, module: str) -> None:
        self._where = source, module

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        if error is not None and not isinstance(error, KeyboardInterrupt | BrokenExtension):
            said = f"{type(error).__name__}: {error}".rstrip(".")
            raise BrokenExtension(f"{_said(*self._where)} cannot be used: {said}.") from error


def _said(source: ExtensionSource, module: str) -> str:
    inner = module.removeprefix(source.module).strip(".").replace(".", "/")
    file = source.folder / f"{inner}.py" if inner else source.place
    return f"{source.origin}: {file}" if str(file) != source.origin else source.origin
