"""A schedule: a flat, seeded list of windows, each a disturbance with a begin and an end. Plain data."""

from collections.abc import Iterator
from typing import Any, Literal, Self

import msgspec

from brokertrial.faults.match import Match
from brokertrial.faults.triggers import AT_HEAL, AT_ONCE, Trigger

FaultModel = Literal["crash-stop", "omission", "timing", "byzantine-wire", "storage-loss", "clock"]
FORMAT = 1


class BadSchedule(ValueError):
    """A schedule that cannot mean anything; one sentence says which window and why."""


class Window(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One disturbance. Message kinds have a `match`, node kinds a `target`: a node's id, a role as in
    `Match.node`, resolved when the window begins, or `any`, drawn from the seed."""

    id: str = ""
    kind: str
    params: dict[str, Any] = {}
    match: Match | None = None
    target: str | None = None
    begin: Trigger = AT_ONCE
    end: Trigger = AT_HEAL
    model: FaultModel = "omission"
    needs: tuple[str, ...] = ()

    def json(self) -> str:
        """As JSON text."""
        return msgspec.json.encode(self).decode()


class Schedule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Windows in the order of their ids' giving; removing one never changes what another does."""

    windows: tuple[Window, ...] = ()
    seed: int = 0
    version: int = FORMAT

    def __post_init__(self) -> None:
        if self.version != FORMAT:
            raise BadSchedule(f"this schedule has format {self.version}; this version reads {FORMAT}.")
        ids = [window.id for window in self.windows]
        if twice := {name for name in ids if ids.count(name) > 1}:
            raise BadSchedule(f"two windows have the id {sorted(twice)[0]!r}.")
        for window in self.windows:
            for awaited in (*window.begin.windows(), *window.end.windows()):
                if awaited not in ids:
                    raise BadSchedule(f"fault {window.id!r} waits for a fault {awaited!r} that is not in the schedule.")

    @classmethod
    def of(cls, *windows: Window, seed: int = 0) -> Self:
        """A schedule of these windows; those without an id become f1, f2, ... by position."""
        named = (w if w.id else msgspec.structs.replace(w, id=f"f{n}") for n, w in enumerate(windows, 1))
        # Through JSON, so that what is run is what a replay will read.
        return cls.from_json(cls(windows=tuple(named), seed=seed).json())

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Reads what `json` wrote; BadSchedule names what is wrong."""
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.ValidationError, msgspec.DecodeError) as problem:
            raise BadSchedule(f"not a schedule: {problem}.") from problem

    def json(self) -> str:
        """As JSON text, the form that is stored, replayed and shrunk."""
        return msgspec.json.encode(self).decode()

    def with_seed(self, seed: int) -> Self:
        """The same windows under another seed."""
        return msgspec.structs.replace(self, seed=seed)

    def without(self, *ids: str) -> Self:
        """This schedule with these windows taken out (what shrinking does)."""
        return msgspec.structs.replace(self, windows=tuple(w for w in self.windows if w.id not in ids))

    def naming(self, **names: str) -> Self:
        """With `{topic}`, `{group}` ... in its text replaced by the names that a run gave them."""
        text = self.json()
        for word, name in names.items():
            text = text.replace("{" + word + "}", name)
        return type(self).from_json(text)

    def needs(self) -> frozenset[str]:
        """Every capability that its windows need of the target or of this machine."""
        return frozenset(need for window in self.windows for need in window.needs)

    def __iter__(self) -> Iterator[Window]:
        return iter(self.windows)

    def __len__(self) -> int:
        return len(self.windows)


def Windows(*windows: Window, seed: int = 0) -> Schedule:
    """`Windows(drop_response(...), kill(...))`: the schedule that a case supplies."""
    return Schedule.of(*windows, seed=seed)
