"""What a sequence knows of the brokers so far: topics, producers, groups; from it requests are made that make sense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from tests.differential.step import Step, Symbol

T = TypeVar("T")
LINES = 3


@dataclass(slots=True)
class Topic:
    name: str
    partitions: int
    topic_id: Symbol | None = None
    alive: bool = True
    ends: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Producer:
    """`open` is the set of partitions of the transaction under way; None: none is."""

    producer: Symbol
    epoch: int
    transactional_id: str | None = None
    sequences: dict[tuple[str, int], int] = field(default_factory=dict)
    last: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    open: set[tuple[str, int]] | None = None

    def restart(self, producer: Symbol, epoch: int) -> None:
        """A new instance, or a new epoch: sequences begin again."""
        if (producer, epoch) != (self.producer, self.epoch):
            self.sequences.clear()
            self.last.clear()
        self.producer, self.epoch = producer, epoch


@dataclass(slots=True)
class Member:
    member: Symbol
    line: int
    instance: str | None = None
    generation: int = -1
    leads: bool = False
    others: list[Symbol] = field(default_factory=list)


@dataclass(slots=True)
class Group:
    name: str
    members: list[Member] = field(default_factory=list)


@dataclass(slots=True)
class ConsumerMember:
    """A member of a KIP-848 group; `pattern`: it wants every topic of the sequence."""

    member: Symbol | str
    names: frozenset[str] = frozenset()
    pattern: bool = False
    instance: str | None = None

    def wants(self, topic: str) -> bool:
        return self.pattern or topic in self.names


@dataclass(slots=True)
class ConsumerGroup:
    """Members want one assignor or none: of two that equally many want, Kafka 4.4.0 takes the one and the other."""

    name: str
    assignor: str
    members: list[ConsumerMember] = field(default_factory=list)
    joined: int = 0


class World:
    """The model; `ours` is in every name, so that sequences never meet."""

    def __init__(self, ours: str, rng: Random, now_ms: int, ranges: dict[str, tuple[int, int]]) -> None:
        self.ours, self.rng, self.now_ms, self._ranges = ours, rng, now_ms, ranges
        self.topics: list[Topic] = []
        self.changes = 0
        self.producers: list[Producer] = []
        self.groups = [Group(f"{ours}-g{number}") for number in range(2)]
        self.consumers = ConsumerGroup(f"{ours}-k", rng.choice(("uniform", "range")))
        self.transactional_ids = [f"{ours}-x{number}" for number in range(2)]
        self.busy: set[int] = set()
        self.waiting: dict[int, Step] = {}
        self.sessions: list[tuple[Symbol, int]] = []

    def version(self, api: str, low: int = 0, high: int = 99) -> int:
        """A version that both brokers offer, within limits; the newest more often."""
        least, most = self._ranges[api]
        least, most = max(least, low), min(most, high)
        return most if self.rng.random() < 0.4 else self.rng.randint(least, most)

    def offers(self, api: str) -> bool:
        return api in self._ranges

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        return self.rng.choice(options)

    def line(self) -> int:
        """A connection that is not held by a request."""
        return self.pick([number for number in range(LINES) if number not in self.busy] or [LINES])

    def topic(self) -> Topic | None:
        alive = [topic for topic in self.topics if topic.alive]
        return self.pick(alive) if alive else None

    def some_group(self, *more: str) -> str:
        """A group's name, of either kind; at times one that is not there."""
        own = [each.name for each in self.groups]
        return self.pick([*own * 3, self.consumers.name, self.consumers.name, f"{self.ours}-nobody", *more])

    def some_topic(self, wrong: float = 0.1) -> tuple[str, int]:
        """A topic's name and a partition of it; at times one that is not there."""
        topic = self.topic()
        if topic is None or self.chance(wrong / 2):
            return f"{self.ours}-none", 0
        if self.chance(wrong / 2):
            return topic.name, self.pick([topic.partitions, 99, -1])
        return topic.name, self.rng.randrange(topic.partitions)

    def named(self, name: str) -> Topic | None:
        return next((topic for topic in self.topics if topic.name == name and topic.alive), None)
