"""The registry of guarantees: what Kafka promises, one TOML file an area beside this page, one table a promise.

An id is permanent. `as_written` keeps the level as the catalogue words it; `level` is what the gate counts: a
`must` of an optional feature (OPT there) binds who offers it, and its cases are not applicable elsewhere.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from brokertrial import extensions
from brokertrial.suggestion import nearest

Level = Literal["must", "should", "may"]
HERE = Path(__file__).parent


class Guarantee(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One promise, with where it is written and when it binds."""

    id: str
    statement: str
    level: Level
    as_written: str
    source: str
    link: str
    quote: str = ""
    """The sentence that promises it, word for word; empty where no short one does."""
    quoted_from: str = ""
    """Where that sentence stands, if not behind `link`."""
    conditions: tuple[str, ...] = ()
    faults: str = (
        ""  # the least disturbance that decides it: F0 none, F1 network, F2 process, F3 several brokers, F4 disk
    )
    area: str = ""

    @property
    def quote_source(self) -> str:
        """The address of the quoted sentence; empty where nothing is quoted."""
        return (self.quoted_from or self.link) if self.quote else ""

    @property
    def by_implementation(self) -> bool:
        """Whether no sentence promises it: what there is to cite is Kafka's code."""
        return not self.quote and self.link.endswith((".java", ".scala"))

    @property
    def optional(self) -> bool:
        """Whether it binds only where a broker offers what it is about; there a must is a must."""
        return any(condition.startswith(("optional", "if ", "where ")) for condition in self.conditions)


class UnknownGuarantee(LookupError):
    """A case names a guarantee that no file of the registry has."""


def registry() -> dict[str, Guarantee]:
    """Every guarantee by id, in the order of the files; those that others bring come last."""
    return _found(extensions.folders())


@cache
def _found(folders: tuple[Path, ...]) -> dict[str, Guarantee]:
    found: dict[str, Guarantee] = {}
    files: dict[str, Path] = {}
    for path in [*sorted(HERE.glob("*.toml")), *_contributed()]:
        for entry in _rows(path):
            if entry.id in found:
                raise extensions.BrokenExtension(f"guarantee {entry.id!r} is in {files[entry.id]} and again in {path}.")
            found[entry.id], files[entry.id] = entry, path
    return found


def _contributed() -> list[Path]:
    """The TOML files that lie beside the cases and checks of others."""
    folders = {source.folder for group in ("cases", "checks") for source in extensions.sources(group)}
    return sorted({path for folder in folders for path in folder.glob("*.toml")})


def _rows(path: Path) -> list[Guarantee]:
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("guarantee", [])
        return [msgspec.convert({**row, "area": path.stem}, Guarantee) for row in rows]
    except (OSError, ValueError, TypeError) as error:
        raise extensions.BrokenExtension(f"{path} holds no guarantees that can be read: {error}.") from error


def guarantee(guarantee_id: str) -> Guarantee:
    """The guarantee of that id."""
    try:
        return registry()[guarantee_id]
    except KeyError:
        raise UnknownGuarantee(f"no guarantee {guarantee_id!r}. {nearest(guarantee_id, registry())}".rstrip()) from None


def all() -> list[Guarantee]:  # reads as suites.guarantees.all()
    """Every guarantee, in the order of the files."""
    return list(registry().values())
