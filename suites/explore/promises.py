"""Which registered guarantee a difference from Apache Kafka breaks: the table harm.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from brokertrial.suites.explore.comparison import AnswerDifference, DifferingField
from brokertrial.wire import errors

TABLE = Path(__file__).with_name("harm.toml")
ANY_ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class BrokenPromise:
    """A kind of difference, the guarantee that it breaks, and what is wrong with it in a few words."""

    api: str
    field: str
    guarantee: str
    what: str
    oracle: str = ""
    target: str = ""

    def fits(self, difference: AnswerDifference, place: DifferingField) -> bool:
        """Whether one differing field of a difference is of this kind."""
        return (
            (not place.refused or place.path.endswith("error_code"))
            and fnmatchcase(difference.api, self.api)
            and fnmatchcase(place.field, self.field)
            and _is(self.oracle, place.oracle)
            and _is(self.target, place.target)
        )


@cache
def table() -> tuple[BrokenPromise, ...]:
    """The entries of harm.toml."""
    return tuple(BrokenPromise(**entry) for entry in tomllib.loads(TABLE.read_text("utf-8"))["harm"])


def broken_by(difference: AnswerDifference) -> BrokenPromise | None:
    """What a difference breaks; None where that is for a person to say."""
    return next(
        (harm for harm in table() for place in difference.places if harm.fits(difference, place)),
        None,
    )


def _is(wanted: str, value: object) -> bool:
    if not wanted:
        return True
    if wanted == ANY_ERROR:
        return isinstance(value, int) and value != 0
    return wanted in (str(value), errors.name(value) if isinstance(value, int) else value)
