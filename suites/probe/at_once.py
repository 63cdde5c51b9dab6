"""Requests that are under way at the same moment, each on the connection that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.produce import UNVERIFIED
from brokertrial.suites.probe.wire import Wire

A = TypeVar("A", bound=Response)
ROUNDS, PAUSE_S = 20, 0.1


def at_once(wire: Wire, asks: Iterable[Callable[..., A]]) -> list[A]:
    """The answers to all of them, none of which was read before the last request had left; `asks` take `wait=`.

    What is refused because somebody is busy is asked again, as clients do: together, and in the end alone.
    """
    made = list(asks)
    answers = _together(wire, dict(enumerate(made)))
    for _ in range(ROUNDS):
        if not (busy := _busy(answers)):
            break
        wire.rest(PAUSE_S)
        answers |= _together(wire, {number: made[number] for number in busy})
    answers |= {number: made[number]() for number in _busy(answers)}
    return [answers[number] for number in range(len(made))]


def _together(wire: Wire, asks: dict[int, Callable[..., A]]) -> dict[int, A]:
    with wire.together():
        return {number: ask(wait=False) for number, ask in asks.items()}


def _busy(answers: dict[int, A]) -> list[int]:
    return [number for number, answer in answers.items() if answer.error in UNVERIFIED]
