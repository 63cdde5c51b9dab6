"""The fault windows of a history: when each fault began and was over, whatever of it was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from brokertrial.histories.rows import Event, Row


class FaultWindow(NamedTuple):
    """One fault that began. `end_ns`: its end, else its healing, else the last event of the history."""

    id: str
    kind: str
    text: str
    """The words of its begin; empty where none were recorded."""
    begin_ns: int
    end_ns: int
    healed_ns: int | None
    """When its effect was verified to be gone; None when that was not recorded."""
    over: bool
    """Whether an end or a healing was recorded at all."""
    planned: Mapping[str, Any]
    """The window as the schedule has it; empty in a history without one."""

    @property
    def name(self) -> str:
        """As reports call it."""
        return f"fault {self.id} {self.text}".strip()


def fault_windows(events: Iterable[Row], schedule: Any) -> list[FaultWindow]:
    """Every fault that began, in the order of their begin. `schedule`: as the header of the history has it."""
    planned = _planned(schedule)
    begun: dict[str, Event] = {}
    ended: dict[str, int] = {}
    healed: dict[str, int] = {}
    last = 0
    for event in events:
        assert isinstance(event, Event)
        last = max(last, event.at_ns)
        if event.window is None:
            continue
        if event.kind == "window-begin":
            begun.setdefault(event.window, event)
        elif event.kind == "window-end":
            ended[event.window] = event.at_ns
        elif event.kind == "window-healed":
            healed[event.window] = event.at_ns
    found = []
    for name, event in begun.items():
        text, plan = _text(event.fields), planned.get(name, {})
        over = ended.get(name, healed.get(name))
        found.append(
            FaultWindow(
                id=name,
                kind=str(plan.get("kind") or text.partition(" ")[0] or name),
                text=text,
                begin_ns=event.at_ns,
                end_ns=max(last if over is None else over, event.at_ns),
                healed_ns=healed.get(name),
                over=over is not None,
                planned=plan,
            )
        )
    return sorted(found, key=lambda window: window.begin_ns)


def _planned(schedule: Any) -> dict[str, Mapping[str, Any]]:
    """The windows of a schedule by id; a foreign history may have a bare list of them, or none."""
    windows = schedule.get("windows", ()) if isinstance(schedule, dict) else schedule or ()
    return {str(window.get("id")): window for window in windows if isinstance(window, dict)}


def _text(fields: str | None) -> str:
    try:
        return str(msgspec.json.decode(fields or "{}").get("text", ""))
    except (msgspec.MsgspecError, AttributeError):
        return ""
