"""Where two answers to the same request part, and what differences of one cause have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from brokertrial.suites.explore.peer import Reply
from brokertrial.wire import errors

_INDEX = re.compile(r"\[[^]]*\]")
ABSENT = "absent"
#: Fields that say what an entry of a list is about.
NAMING = (
    "name", "topic", "topic_id", "topic_name", "group_id", "member_id", "transactional_id", "resource_name", "key",
    "partition_index", "partition", "partition_id", "index", "base",
)  # fmt: skip
NOT_SHOWN = "not visible in time"


@dataclass(frozen=True, slots=True)
class DifferingField:
    """One field of an answer in which the two brokers differ."""

    path: str
    oracle: Any
    target: Any
    refused: bool = False
    """One of the two answers this part with an error: what else is in it is no promise."""

    @property
    def field(self) -> str:
        """The field without the numbers of entries in lists."""
        return _INDEX.sub("", self.path)

    @property
    def words(self) -> str:
        """The field and, where they are error codes, what either is called."""
        if self.path.endswith("error_code"):
            return f"{self.field} {_code(self.oracle)} / {_code(self.target)}"
        if ABSENT in (self.oracle, self.target):
            return f"{self.field} {'missing' if self.target == ABSENT else 'too many'}"
        if self.path in ("answer", "late"):
            return f"{_kind(self.oracle)} / {_kind(self.target)}"
        return self.field


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """A request that two brokers answer otherwise: its API, its version, and the fields that differ."""

    api: str
    version: int
    places: tuple[DifferingField, ...]

    @property
    def cause(self) -> str:
        """What differences of one cause have in common: error codes where some differ, else the first field."""
        named = [place.words for place in self.places if place.path.endswith("error_code")]
        return f"{self.api}: {', '.join(sorted(set(named))) if named else self.places[0].words}"


def compared(api: str, version: int, oracle: Reply, target: Reply) -> AnswerDifference | None:
    """The difference between two answers; None where they are alike."""
    if oracle == target:
        return None
    places = tuple(_places("", oracle.answer, target.answer)) or (DifferingField("late", oracle.late, target.late),)
    return AnswerDifference(api, version, places)


def _places(where: str, oracle: Any, target: Any, refused: bool = False) -> Iterator[DifferingField]:
    if isinstance(oracle, dict) and isinstance(target, dict) and oracle.keys() == target.keys():
        refused = refused or bool(oracle.get("error_code") or target.get("error_code"))
        for key in oracle:
            yield from _places(f"{where}.{key}" if where else key, oracle[key], target[key], refused)
    elif isinstance(oracle, list) and isinstance(target, list) and (keys := _keys(oracle, target)):
        ours, theirs = (dict(zip(map(_key, entries), entries, strict=True)) for entries in (oracle, target))
        for key in keys:
            yield from _places(f"{where}[{_named(key)}]", ours.get(key, ABSENT), theirs.get(key, ABSENT), refused)
    elif isinstance(oracle, list) and isinstance(target, list) and len(oracle) == len(target):
        for number, pair in enumerate(zip(oracle, target, strict=True)):
            yield from _places(f"{where}[{number}]", *pair, refused)
    elif oracle != target:
        yield DifferingField(where or "answer", oracle, target, refused)


def _key(entry: Any) -> tuple[tuple[str, str], ...]:
    """What names an entry of a list: the topic, partition, group ... that it is about; an id where it has no name."""
    if not isinstance(entry, dict):
        return ()
    named = bool(entry.get("name") or entry.get("topic"))
    names = (name for name in NAMING if name in entry and not (named and name == "topic_id"))
    return tuple((name, str(entry[name])) for name in names)


def _keys(oracle: list[Any], target: list[Any]) -> list[tuple[tuple[str, str], ...]]:
    """The names of all entries, where both lists have a name for each of theirs, and no name twice; else none."""
    ours, theirs = list(map(_key, oracle)), list(map(_key, target))
    if () in ours + theirs or len(set(ours)) < len(ours) or len(set(theirs)) < len(theirs):
        return []
    return list(dict.fromkeys(ours + theirs))


def _named(key: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(value for _, value in key)


def _code(code: Any) -> str:
    return errors.name(code) if isinstance(code, int) else str(code)


def _kind(answer: Any) -> str:
    """What stands for a whole answer: a word for none, or its error codes."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, dict):
        found = sorted({_code(code) for code in Reply(answer).codes()})
        return f"answered {', '.join(found)}" if found else "answered"
    return f"{len(answer)} late answers" if isinstance(answer, list) else "nothing"
