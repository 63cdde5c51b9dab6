"""What all windows together do to one message: their decisions, folded."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from brokertrial.faults.actions import Action, Delay, Drop, Duplicate, Forward, Hold, Replace, Reset, Respond, Stall
from brokertrial.wire.messages import Struct


@dataclass(slots=True)
class DeliveryPlan:
    """Delays add up; the last replacement counts; of the ways to stop a message the strongest wins, in the order of
    `stop`."""

    delay: float = 0.0
    gate: Any = None
    held: bool = False
    duplicate: Duplicate | None = None
    replace: Struct | None = None
    answer: Struct | None = None
    drop: Drop | None = None
    dropped_by: Any = None
    reset: bool = False

    def take(self, window: Any, action: Action) -> None:
        """Adds one window's decision."""
        match action:
            case Delay(seconds):
                self.delay += seconds
            case Stall():
                self.gate = self.gate or window
            case Hold():
                self.gate, self.held = window, True
            case Duplicate():
                self.duplicate = action
            case Replace(message):
                self.replace = message
            case Respond(message):
                self.answer = message
            case Drop():
                self.drop, self.dropped_by = action, window
            case Reset():
                self.reset = True
            case Forward():
                pass


def decision(action: Action) -> str:
    """The word for it in a hit."""
    return type(action).__name__.lower()


def has_effect(action: Action) -> bool:
    """Whether it is more than letting the message pass."""
    return not isinstance(action, Forward)


def combined(decided: Iterable[tuple[Any, Action]]) -> DeliveryPlan:
    """The plan of these decisions."""
    plan = DeliveryPlan()
    for window, action in decided:
        plan.take(window, action)
    return plan
