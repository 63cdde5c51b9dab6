"""One random sequence of requests, put to the judge and to the broker beside it, step by step, until they differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from brokertrial.wire import errors
from tests.differential.families import Maker, makers
from tests.differential.settling import settle
from tests.differential.side import CLOSED, WAITING, Heard, Side
from tests.differential.step import Settled, Step
from tests.differential.world import LINES, World

LENGTH = (20, 60)
SLOWER_BY_S = 10.0
#: In whose words Kafka refuses a batch whose transaction is not open, where it asks for several producers at once.
NOT_OPEN = frozenset({errors.TRANSACTION_ABORTABLE, errors.INVALID_TXN_STATE})
ASKED_AGAIN = 5
SLOW_BY_MS = 20 * 60_000
_CHANGING = re.compile(r"d[0-9a-f]{6}-\d+(-\w+)?")
FIRST = ("CreateTopics", "CreateTopics", "InitProducerId", "InitProducerId")


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two brokers part: a request and what each said. `here` and `judge` are what is told of the answers."""

    seed: int
    number: int
    api: str
    version: int
    asked: str
    judge: str
    here: str
    judge_codes: tuple[int, ...]
    here_codes: tuple[int, ...]

    @property
    def kind(self) -> str:
        """What differences of one cause have in common."""
        names = [
            ",".join(sorted({errors.name(code) for code in codes})) for codes in (self.judge_codes, self.here_codes)
        ]
        told = [_CHANGING.sub("...", words) for words in (self.judge, self.here)]
        return f"{self.api}: {names[0] or told[0]} / {names[1] or told[1]}"


@dataclass(slots=True)
class Outcome:
    """What one sequence covered, and where it ended early."""

    seed: int
    asked: Counter[str] = field(default_factory=Counter)
    valid: int = 0
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    difference: Difference | None = None


def run(seed: int, judge: Side, here: Side, world: World, *, trace: bool = False) -> Outcome:
    """Puts one sequence to both; ends at the first difference, for from there on the two are in different states."""
    outcome = Outcome(seed)
    for number, step in enumerate(_steps(world)):
        heard = _heard(step, judge, here)
        for _ in range(ASKED_AGAIN):
            if not _in_anothers_words(*heard):
                break
            heard = [_joined(*pair) for pair in zip(heard, _heard(step, judge, here), strict=True)]
        if trace:
            print(
                f"  {number} line {step.line} {step.api} v{step.version} {_shown(step.fields)}\n"
                f"    -> {_shown(heard[0].answer)}"
            )
        outcome.asked[step.api] += 1
        outcome.valid += isinstance(heard[0].answer, dict) and not any(heard[0].codes())
        for code in set(heard[0].codes()):
            outcome.seen[step.api, errors.name(code)] += 1
        if heard[0] != heard[1]:
            outcome.difference = _difference(seed, number, step, *heard)
            return outcome
        _learn(world, step, heard[0])
        for what in step.settle:
            settled = [settle(side, what) for side in (judge, here)]
            if settled[0] != settled[1]:
                outcome.difference = _unsettled(seed, number, step, what, settled)
                return outcome
    return outcome


def _heard(step: Step, judge: Side, here: Side) -> list[Heard]:
    heard = [side.put(step) for side in (judge, here)]
    _wait_for_the_slower(step.line, judge, *heard)
    _wait_for_the_slower(step.line, here, *reversed(heard))
    return heard


def _in_anothers_words(judge: Heard, here: Heard) -> bool:
    """Whether both refuse for want of an open transaction, and only the code differs.

    Kafka asks the coordinator for all producers that want to know at a time, and tells all of them what the first of
    their requests understands; a refusal leaves nothing behind, so that it can be asked again.
    """
    ours, its = here.codes(), judge.codes()
    return len(ours) == len(its) and any({one, other} == NOT_OPEN for one, other in zip(ours, its, strict=True))


def _joined(before: Heard, now: Heard) -> Heard:
    return Heard(now.answer, [*before.late, *now.late])


def _wait_for_the_slower(line: int, side: Side, own: Heard, its: Heard) -> None:
    """What one broker has answered the other gets time for: only two that both wait are alike at once."""
    if own.answer == WAITING and its.answer != WAITING:
        own.answer = side.hear(line, SLOWER_BY_S)
    for late, _ in its.late:
        if side.waits(late) and (answer := side.hear(late, SLOWER_BY_S)) != WAITING:
            own.late.append((late, answer))
    own.late.sort(key=lambda one: one[0])


def _learn(world: World, step: Step, heard: Heard) -> None:
    if heard.answer == WAITING:
        world.busy.add(step.line)
        world.waiting[step.line] = step
    elif isinstance(heard.answer, dict) and step.learn is not None:
        step.learn(heard.answer)
    for line, answer in heard.late:
        world.busy.discard(line)
        held = world.waiting.pop(line)
        if isinstance(answer, dict) and held.learn is not None:
            held.learn(answer)


def _steps(world: World) -> Iterator[Step]:
    """Topics and producers first, so that most of what follows has something to be about."""
    able = [maker for maker in makers() if world.offers(maker.api)]
    first = [maker for api in FIRST for maker in able if maker.api == api]
    for number in range(world.rng.randint(*LENGTH)):
        yield _made(world, first[number : number + 1] if number < len(FIRST) else able, able)


def _made(world: World, chosen: list[Maker], able: list[Maker]) -> Step:
    while True:
        maker = world.rng.choices(chosen, [each.weight for each in chosen])[0]
        step = maker.make(world)
        if step is not None and (step.line not in world.busy or step.line >= LINES):
            return step
        chosen = able


def _difference(seed: int, number: int, step: Step, judge: Heard, here: Heard) -> Difference:
    return Difference(
        seed, number, step.api, step.version, _shown(step.fields), *_apart(judge, here),
        tuple(judge.codes()), tuple(here.codes()),
    )  # fmt: skip


def _unsettled(seed: int, number: int, step: Step, what: Settled, settled: list[bool]) -> Difference:
    words = ["shown in time" if shown else f"not shown in time: {what}" for shown in settled]
    return Difference(seed, number, step.api, step.version, _shown(step.fields), words[0], words[1], (), ())


def _apart(judge: Heard, here: Heard) -> tuple[str, str]:
    """The parts of two answers that are not alike."""
    if isinstance(judge.answer, dict) and isinstance(here.answer, dict) and judge.answer != here.answer:
        places = list(_places("", judge.answer, here.answer))
        return "; ".join(f"{where}={one}" for where, one, _ in places), "; ".join(
            f"{where}={two}" for where, _, two in places
        )
    if judge.answer != here.answer:
        return _short(judge.answer), _short(here.answer)
    return f"late: {judge.late}", f"late: {here.late}"


def _short(answer: Any) -> str:
    return answer if answer in (CLOSED, WAITING) else f"answered {answer}"


def _places(where: str, one: Any, two: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        for key in one:
            yield from _places(f"{where}.{key}" if where else key, one[key], two[key])
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for number, pair in enumerate(zip(one, two, strict=True)):
            yield from _places(f"{where}[{number}]", *pair)
    elif one != two:
        yield where, one, two


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_shown(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_shown(each) for each in value) + "]"
    return repr(value) if isinstance(value, str) else str(value)


def world_of(seed: int, now_ms: int, ranges: dict[str, tuple[int, int]], run_id: str) -> World:
    """The beginning of a sequence: everything random in it comes from the seed.

    Its clock is slow: no time that a broker takes itself falls among those that records have and that are asked for.
    """
    return World(f"d{run_id}-{seed}", Random(seed), now_ms - SLOW_BY_MS, ranges)
