"""Names for what a run makes: a random prefix and plain words, so that no broker can tell who asks what.

A name is a function of the scene, so that a stored case asks for the same; the salt, which is in no name, keeps others
from working it out. Reports show the short name that stands for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Protocol

import msgspec

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.histories.reader import History
from brokertrial.suites.result import Evidence, Failure, Outcome, Reason

LETTERS = "bcdfghjklmnpqrstvwxz"
WORDS = (Path(__file__).parent / "words.txt").read_text(encoding="utf-8").split()


class Scene(Protocol):
    """What the names of a case follow from."""

    @property
    def prefix(self) -> str: ...
    @property
    def salt(self) -> str: ...
    @property
    def case(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def names_alike(self) -> bool: ...


def prefixes(seed: object) -> Iterable[str]:
    """Prefixes without a meaning, one after the other, for who finds the first in use."""
    rng = Random(f"names/{seed}")
    while True:
        yield "".join(rng.choices(LETTERS, k=rng.randint(6, 8)))


def unused(seed: object, names: Collection[str]) -> str:
    """The first prefix that no name on the cluster begins with."""
    return next(prefix for prefix in prefixes(seed) if not any(name.startswith(prefix) for name in names))


def salt(seed: object) -> str:
    """What keeps the names from being worked out by others."""
    return f"{Random(f'salt/{seed}').getrandbits(64):016x}"


def name(prefix: str, secret: str, *about: object) -> str:
    """The name of one thing: the prefix, plain words and a number."""
    digest = hashlib.sha256("/".join((prefix, secret, *map(str, about))).encode()).digest()
    first, second, number = (int.from_bytes(digest[start : start + 4], "big") for start in (0, 4, 8))
    return f"{prefix}-{WORDS[first % len(WORDS)]}-{WORDS[second % len(WORDS)]}-{number % 100_000}"


def name_in_case(scene: Scene, what: str, number: int) -> str:
    """The name of the thing with this number in a case; every other one begins with that of the thing before it.

    Brokers keep names as parts of others, of files and of keys; `orders-2024` is not `orders`, nor a partition of it.
    """
    about = (scene.prefix, scene.salt, scene.case, scene.attempt)
    found = name(*about, f"{what}{number}")
    if scene.names_alike and number > 1 and int(found[-1]) % 2:
        return f"{name(*about, f'{what}{number - 1}')}-{2000 + number}"
    return found


def shortened(outcome: Outcome, names: Mapping[str, str]) -> Outcome:
    """The outcome with short names in place of those that the run made; where any stands in it, its facts say which."""
    if not names or outcome.reason is None:
        return outcome
    replace = Shortening(names)
    shown = msgspec.structs.replace(
        outcome,
        reason=Reason(outcome.reason.kind, replace(outcome.reason.sentence)),
        evidence=tuple(map(replace.evidence, outcome.evidence)),
        failures=tuple(map(replace.failure, outcome.failures)),
        anomalies=tuple(map(replace.anomaly, outcome.anomalies)),
        permitted=tuple(map(replace.anomaly, outcome.permitted)),
        schedule=replace(outcome.schedule),
    )
    if not replace.seen:
        return outcome
    return msgspec.structs.replace(shown, facts={**outcome.facts, "names": ", ".join(replace.seen)})


def shortening_of(history: History) -> Shortening:
    """Short names for what the run of this history made; none for what others recorded."""
    names = history.header.settings.get("named", {})
    return Shortening(names if isinstance(names, dict) else {})


class Shortening:
    """Puts short names into texts, and remembers which."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = sorted(names.items(), key=lambda pair: -len(pair[0]))  # one may begin with another
        self.seen: dict[str, None] = {}

    def __call__(self, text: str) -> str:
        for long, short in self._names:
            if long in text:
                text = text.replace(long, short)
                self.seen.setdefault(f"{short} = {long}")
        return text

    def evidence(self, entry: Evidence) -> Evidence:
        return msgspec.structs.replace(entry, text=self(entry.text), outcome=self(entry.outcome), note=self(entry.note))

    def failure(self, entry: Failure) -> Failure:
        proof = tuple(map(self.evidence, entry.evidence))
        return msgspec.structs.replace(entry, sentence=self(entry.sentence), evidence=proof)

    def anomaly(self, entry: Anomaly) -> Anomaly:
        return msgspec.structs.replace(entry, sentence=self(entry.sentence))
