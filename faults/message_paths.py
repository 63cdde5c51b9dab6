"""Edits of a decoded message by path: `topics[].partitions[0].offset`, `nodes[node_id=2].port`,
`records[0].records[1].value`."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_STEP = re.compile(r"([a-z_0-9]+)(?:\[([^\]]*)\])?")
Edit = Callable[[Any], Any]


class BadPath(ValueError):
    """A path that cannot be read; the sentence says where."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """One name of a path; `pick` says which elements when the field is a list (None: the field itself, "": all)."""

    name: str
    pick: str | None = None

    def elements(self, values: list[Any]) -> Iterator[int]:
        """The places in the list that this step means."""
        if self.pick == "":
            yield from range(len(values))
        elif self.pick is not None and "=" in self.pick:
            key, wanted = self.pick.split("=", 1)
            yield from (n for n, value in enumerate(values) if str(getattr(value, key, None)) == wanted)
        elif self.pick is not None:
            place = int(self.pick)
            if -len(values) <= place < len(values):
                yield place % len(values)


def parse(path: str) -> tuple[PathStep, ...]:
    """Reads a path; BadPath when it cannot be one."""
    steps = []
    for part in path.split("."):
        match = _STEP.fullmatch(part)
        if match is None or (match[2] and "=" not in match[2] and not match[2].lstrip("-").isdigit()):
            raise BadPath(f"{part!r} in {path!r} is neither a field nor field[], field[2] or field[key=value].")
        steps.append(PathStep(match[1], match[2]))
    return tuple(steps)


def change(message: Any, path: tuple[PathStep, ...], edit: Edit) -> int:
    """Replaces every value at the path by `edit(value)`, in place; how many there were."""
    return _walk(message, path, lambda holder, key: _put(holder, key, edit(_get(holder, key))))


def drop(message: Any, path: tuple[PathStep, ...]) -> int:
    """Removes the list elements at the path; how many there were."""
    return _lists(message, path, lambda values, places: [v for n, v in enumerate(values) if n not in places])


def repeat(message: Any, path: tuple[PathStep, ...]) -> int:
    """Puts each list element at the path there twice; how many there were."""
    return _lists(
        message, path, lambda values, places: [v for n, v in enumerate(values) for _ in range(1 + (n in places))]
    )


def swap(message: Any, path: tuple[PathStep, ...]) -> int:
    """Reverses the order of the list elements at the path; how many there were (one alone is no change)."""

    def reversed_in_place(values: list[Any], places: set[int]) -> list[Any]:
        order = sorted(places)
        moved = dict(zip(order, reversed(order), strict=True))
        return [values[moved.get(n, n)] for n in range(len(values))]

    return _lists(message, path, reversed_in_place, at_least=2)


def _lists(
    message: Any, path: tuple[PathStep, ...], rebuild: Callable[[list[Any], set[int]], list[Any]], at_least: int = 1
) -> int:
    last = path[-1]
    if last.pick is None:
        raise BadPath(
            f"{last.name!r} is no list element: write {last.name}[], {last.name}[0] or {last.name}[key=value]."
        )
    done = 0

    def edit(values: Any) -> Any:
        nonlocal done
        places = set(last.elements(values)) if values else set()
        if len(places) < at_least:
            return values
        done += len(places)
        return rebuild(values, places)

    change(message, (*path[:-1], PathStep(last.name)), edit)
    return done


def _walk(holder: Any, path: tuple[PathStep, ...], act: Callable[[Any, Any], None]) -> int:
    step, rest = path[0], path[1:]
    if not hasattr(holder, step.name):
        return 0
    value = getattr(holder, step.name)
    if isinstance(value, tuple):
        value = list(value)
        setattr(holder, step.name, value)
    if step.pick is None:
        if rest:
            return _walk(value, rest, act)
        act(holder, step.name)
        return 1
    if not isinstance(value, list):
        return 0
    if rest:
        return sum(_walk(value[place], rest, act) for place in step.elements(value))
    places = list(step.elements(value))
    for place in places:
        act(value, place)
    return len(places)


def _get(holder: Any, key: Any) -> Any:
    return holder[key] if isinstance(key, int) else getattr(holder, key)


def _put(holder: Any, key: Any, value: Any) -> None:
    if isinstance(key, int):
        holder[key] = value
    else:
        setattr(holder, key, value)
