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

    What is refused as a whole because somebody is busy is asked again, as clients do: together, and in the end alone.
    A request of which a part may have been done (a Produce of several partitions) is for `once`.
    """
    made = list(asks)
    answers = once(wire, made)
    for _ in range(ROUNDS):
        if not (busy := _busy(answers)):
            break
        wire.rest(PAUSE_S)
        for number, answer in zip(busy, once(wire, [made[number] for number in busy]), strict=True):
            answers[number] = answer
    for number in _busy(answers):
        answers[number] = made[number]()
    return answers


def once(wire: Wire, asks: Iterable[Callable[..., A]]) -> list[A]:
    """The same, and nothing is asked again."""
    with wire.together():
        return [ask(wait=False) for ask in asks]


def _busy(answers: list[A]) -> list[int]:
    return [number for number, answer in enumerate(answers) if answer.error in UNVERIFIED]
