"""What came of something that was done to a target, as it is kept on the tape."""

from __future__ import annotations

from collections.abc import Callable

from brokertrial.faults.node_control import ActWithoutEffect
from brokertrial.suites.probe.failures import Unclear

OUT_OF_REACH = "out-of-reach"
"""The reason of an attempt that did something to a node which did not reach its broker: it proves nothing."""


def came_of(act: Callable[[], str | None]) -> str:
    """What an act returns, empty for nothing; or in one line what it raised."""
    try:
        return act() or ""
    except Exception as error:  # noqa: BLE001 - whatever a target raises is the outcome of the act
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def must_have_reached(outcome: str) -> str:
    """The outcome of an act on a node; Unclear where the node went on as before."""
    name, _, sentence = outcome.partition(": ")
    if name == ActWithoutEffect.__name__:
        raise Unclear(OUT_OF_REACH, sentence)
    return outcome
