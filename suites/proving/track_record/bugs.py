"""The list: bugs that released brokers had, each with a release that has it and one that has it no more."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

LIST = Path(__file__).with_name("bugs.toml")


class ReleasedBug(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of bugs.toml, which says what each field means."""

    id: str
    issue: str
    suffers: str
    requests: str
    has: str
    mended: str
    """Empty while no release is without it."""
    areas: tuple[str, ...]
    guarantees: tuple[str, ...]
    checked: Literal["requests", "source"]
    cited: bool = False

    def __post_init__(self) -> None:
        if not (self.issue and self.suffers and self.requests and self.areas):
            raise ValueError(f"{self.id}: issue, suffers, requests and areas must be there")
        if self.has == self.mended or not all(":" in target for target in (self.has, self.mended) if target):
            raise ValueError(f"{self.id}: has and mended are two targets")


class _BugsFile(msgspec.Struct, forbid_unknown_fields=True):
    bug: list[ReleasedBug]


@cache
def bugs(path: Path = LIST) -> Sequence[ReleasedBug]:
    """Every bug of the list, in its order; raises ValueError for a row that is not whole, or an id given twice."""
    rows = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _BugsFile).bug
    twice = {row.id for row in rows if sum(other.id == row.id for other in rows) > 1}
    if twice:
        raise ValueError(f"{path.name}: given twice: {', '.join(sorted(twice))}")
    return tuple(rows)
