"""When a window begins and ends: conditions on what happens in a run, as data, and a pure judgement of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, Self

import msgspec

from brokertrial.faults.match import Match, ordinal

Edge = Literal["begin", "hit", "end"]


class After(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """`delay_ms` after another window began, hit for the first time, or ended."""

    window: str
    event: Edge = "begin"
    delay_ms: float = 0


class Trigger(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Exactly one of these: the op-th client call, the n-th message that matches, after another window, elapsed time,
    the heal phase, any/all."""

    op: int | None = None
    msg: Match | None = None
    n: int = 1
    after: After | None = None
    elapsed_ms: float | None = None
    heal: bool = False
    any: tuple["Trigger", ...] = ()
    all: tuple["Trigger", ...] = ()

    def __post_init__(self) -> None:
        stated = (self.op is not None, self.msg is not None, self.after is not None, self.elapsed_ms is not None)
        if sum((*stated, self.heal, bool(self.any), bool(self.all))) != 1:
            raise ValueError("a trigger states exactly one of op, msg, after, elapsed_ms, heal, any, all.")

    def words(self) -> str:
        """For people: `at op 200`, `50 ms after f1 began`."""
        if self.op is not None:
            return f"at op {self.op}"
        if self.elapsed_ms is not None:
            return f"at {self.elapsed_ms:g} ms" if self.elapsed_ms else "at the start"
        if self.msg is not None:
            one = msgspec.structs.replace(self.msg, count=1)
            return f"at the {ordinal(self.n)} {one.words('request', 'to').removeprefix('1 ')}"
        if self.after is not None:
            happened = {"begin": "began", "hit": "hit", "end": "ended"}[self.after.event]
            delay = f"{self.after.delay_ms:g} ms " if self.after.delay_ms else ""
            return f"{delay}after {self.after.window} {happened}"
        if self.heal:
            return "at the heal"
        return (" or " if self.any else " and ").join(part.words() for part in self.any or self.all)

    def json(self) -> str:
        """As JSON text."""
        return msgspec.json.encode(self).decode()

    def messages(self) -> Iterator[Self]:
        """The conditions on messages in it: only the proxy can tell when they come true."""
        if self.msg is not None:
            yield self
        for part in self.any + self.all:
            yield from part.messages()  # type: ignore[misc]

    def windows(self) -> Iterator[str]:
        """The ids of the windows that it waits for."""
        if self.after is not None:
            yield self.after.window
        for part in self.any + self.all:
            yield from part.windows()


def at_op(n: int) -> Trigger:
    """When the n-th client call is invoked."""
    return Trigger(op=n)


def elapsed(ms: float) -> Trigger:
    """That long after the schedule started."""
    return Trigger(elapsed_ms=ms)


def message(n: int = 1, *, api: str | tuple[str, ...] = (), node: str | int = "any", **match: object) -> Trigger:
    """At the n-th request that matches; a message window that begins so can already hit that request."""
    names = (api,) if isinstance(api, str) else api
    return Trigger(msg=msgspec.convert({"api": names, "node": str(node), **match}, Match), n=n)


def after(window: str, event: Edge = "begin", delay_ms: float = 0) -> Trigger:
    """After something happened to another window."""
    return Trigger(after=After(window=window, event=event, delay_ms=delay_ms))


def any_of(*triggers: Trigger) -> Trigger:
    """When the first of these has come true."""
    return Trigger(any=triggers)


def all_of(*triggers: Trigger) -> Trigger:
    """When each of these has come true, in whatever order."""
    return Trigger(all=triggers)


AT_HEAL = Trigger(heal=True)
AT_ONCE = Trigger(elapsed_ms=0)


@dataclass
class RunProgress:
    """What has happened so far: all that a trigger may depend on."""

    ops: int = 0
    now_ms: float = 0.0
    edges: dict[tuple[str, Edge], float] = field(default_factory=dict)
    """When each window first began, hit, ended, in ms of this schedule."""
    messages: set[tuple[str, str]] = field(default_factory=set)
    """(window, condition as JSON) of the message conditions that came true, as the proxy reported them."""


def is_due(trigger: Trigger, window: str, seen: RunProgress) -> bool:
    """Whether the condition has come true for this window. The heal phase is no condition: whoever heals, ends
    everything."""
    if trigger.op is not None:
        return seen.ops >= trigger.op
    if trigger.elapsed_ms is not None:
        return seen.now_ms >= trigger.elapsed_ms
    if trigger.msg is not None:
        return (window, trigger.json()) in seen.messages
    if trigger.after is not None:
        happened = seen.edges.get((trigger.after.window, trigger.after.event))
        return happened is not None and seen.now_ms >= happened + trigger.after.delay_ms
    if trigger.any:
        return any(is_due(part, window, seen) for part in trigger.any)
    return bool(trigger.all) and all(is_due(part, window, seen) for part in trigger.all)


def next_ms(trigger: Trigger, seen: RunProgress) -> float | None:
    """The earliest time at which the clock alone could make it true; None when only something else can."""
    if trigger.elapsed_ms is not None:
        return trigger.elapsed_ms
    if trigger.after is not None:
        happened = seen.edges.get((trigger.after.window, trigger.after.event))
        return None if happened is None else happened + trigger.after.delay_ms
    times = [
        time for part in trigger.any + trigger.all if (time := next_ms(part, seen)) is not None and time > seen.now_ms
    ]
    return min(times, default=None)
