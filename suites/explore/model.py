"""What a sequence knows of the brokers so far: topics, producers, groups. Rules make sensible requests from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from brokertrial.suites.explore.choices import Choices
from brokertrial.suites.explore.share_model import ModelShareGroup
from brokertrial.suites.explore.step import RequestStep, Symbol
from brokertrial.suites.explore.streams_model import ModelStreamsGroup

T = TypeVar("T")
CONNECTIONS = 3
Entity = tuple[tuple[str, str], ...]
"""What a quota is of: pairs of a kind and a name, in order."""


@dataclass(slots=True)
class ModelTopic:
    name: str
    partitions: int
    topic_id: Symbol | None = None
    alive: bool = True
    ends: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class ModelProducer:
    """`open` is the set of partitions of the transaction under way; None: none is."""

    producer: Symbol
    epoch: int
    transactional_id: str | None = None
    sequences: dict[tuple[str, int], int] = field(default_factory=dict)
    sent: dict[tuple[str, int], list[tuple[int, int]]] = field(default_factory=dict)
    open: set[tuple[str, int]] | None = None
    short: bool = False
    """Its transactions time out at once: only families/expiring.py opens any."""

    def wrote(self, place: tuple[str, int], sequence: int, count: int) -> None:
        """A batch was taken: the next sequence of this partition is behind it; the last seven are remembered."""
        self.sequences[place] = (sequence + count) % 2**31
        self.sent[place] = [*self.sent.get(place, []), (sequence, count)][-7:]

    def forget(self, topic: str) -> None:
        """A topic is deleted: one of its name begins anew."""
        for kept in (self.sequences, self.sent):
            for place in [place for place in kept if place[0] == topic]:
                del kept[place]

    def restart(self, producer: Symbol, epoch: int) -> None:
        """A new instance, or a new epoch: sequences begin again."""
        if (producer, epoch) != (self.producer, self.epoch):
            self.sequences.clear()
            self.sent.clear()
        self.producer, self.epoch = producer, epoch


@dataclass(slots=True)
class ModelSession:
    """A fetch session: its next epoch, the version that it is asked in, and the partitions that it began with."""

    session: Symbol
    epoch: int
    version: int
    places: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class ModelMember:
    member: Symbol
    connection: int
    instance: str | None = None
    generation: int = -1
    leads: bool = False
    others: list[Symbol] = field(default_factory=list)


@dataclass(slots=True)
class ModelGroup:
    name: str
    members: list[ModelMember] = field(default_factory=list)


@dataclass(slots=True)
class ModelConsumerMember:
    """A member of a KIP-848 group; `pattern`: it wants every topic of the sequence."""

    member: Symbol | str
    names: frozenset[str] = frozenset()
    pattern: bool = False
    instance: str | None = None

    def wants(self, topic: str) -> bool:
        return self.pattern or topic in self.names


@dataclass(slots=True)
class ModelConsumerGroup:
    """Members want one assignor or none: of two that equally many want, Kafka 4.4.0 takes the one and the other."""

    name: str
    assignor: str
    members: list[ModelConsumerMember] = field(default_factory=list)
    joined: int = 0


class Model:
    """`prefix` is in every name, so that sequences never meet; `ranges` are the versions that both brokers offer."""

    def __init__(self, prefix: str, choices: Choices, now_ms: int, ranges: Mapping[str, tuple[int, int]]) -> None:
        self.prefix, self._choices, self.now_ms, self._ranges = prefix, choices, now_ms, ranges
        self.topics: list[ModelTopic] = []
        self.changes = 0
        self._tags = 0
        self.producers: list[ModelProducer] = []
        self.groups = [ModelGroup(f"{prefix}-g{number}") for number in range(2)]
        self.consumers = ModelConsumerGroup(f"{prefix}-k", "uniform")
        self.shares = ModelShareGroup(f"{prefix}-s")
        self.streams = ModelStreamsGroup(f"{prefix}-y")
        self.transactional_ids = [f"{prefix}-x{number}" for number in range(2)]
        self.busy: set[int] = set()
        self.waiting: dict[int, RequestStep] = {}
        self.sessions: list[ModelSession] = []
        self.restarts = 0
        self.quotas: dict[Entity, dict[str, float]] = {}
        self.credentials: dict[str, dict[int, int]] = {}
        """Of each user the iterations by mechanism."""

    def version(self, api: str, low: int = 0, high: int = 99) -> int:
        """A version that both brokers offer, within limits; the newest more often."""
        least, most = self._ranges[api]
        least, most = min(max(least, low), most), min(most, high)
        return most if least >= most or self.chance(0.6) else most - self.below(most - least + 1)

    def offers(self, api: str) -> bool:
        return api in self._ranges

    def chance(self, probability: float) -> bool:
        """Whether something comes about; the likelier is the plainer."""
        part = round(100 * probability)
        return self._choices.below(100) < part if part >= 50 else self._choices.below(100) >= 100 - part

    def below(self, limit: int) -> int:
        return self._choices.below(limit)

    def between(self, least: int, most: int) -> int:
        return least + self._choices.below(most - least + 1)

    def pick(self, options: Sequence[T]) -> T:
        """One of several options; the first is the plainest."""
        return options[self._choices.below(len(options))]

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """So many different ones."""
        left = list(options)
        return [left.pop(self._choices.below(len(left))) for _ in range(count)]

    def connection(self) -> int:
        """A connection that is not held by a request."""
        return self.pick([number for number in range(CONNECTIONS) if number not in self.busy] or [CONNECTIONS])

    def free(self) -> list[int]:
        """The connections that no request is held on; one is always left for what lets it go."""
        free = [number for number in range(CONNECTIONS) if number not in self.busy]
        return free if len(free) > 1 else []

    def known(self, name: str) -> ModelTopic | None:
        """The newest topic that had a name, also where it is deleted."""
        return next((topic for topic in reversed(self.topics) if topic.name == name), None)

    def some_partitions(self, wrong: float = 0.1) -> dict[str, list[int]]:
        """One partition or several, of one topic or several, by topic; at times one that is not there."""
        places: dict[str, list[int]] = {}
        for _ in range(self.pick([1, 1, 1, 2, 3])):
            name, partition = self.some_partition(wrong)
            if partition not in places.setdefault(name, []):
                places[name].append(partition)
        return places

    def tag(self) -> int:
        """A number that no other batch of the sequence has."""
        self._tags += 1
        return self._tags

    def topic(self) -> ModelTopic | None:
        alive = [topic for topic in self.topics if topic.alive]
        return self.pick(alive) if alive else None

    def some_group(self, *more: str) -> str:
        """A group's name, of either kind; at times one that is not there."""
        own = [each.name for each in self.groups]
        return self.pick([*own * 3, self.consumers.name, self.consumers.name, f"{self.prefix}-nobody", *more])

    def some_partition(self, wrong: float = 0.1) -> tuple[str, int]:
        """A topic's name and a partition of it; at times one that is not there."""
        topic = self.topic()
        if topic is None or self.chance(wrong / 2):
            return f"{self.prefix}-none", 0
        if self.chance(wrong / 2):
            return topic.name, self.pick([topic.partitions, 99, -1])
        return topic.name, self.below(topic.partitions)

    def named(self, name: str) -> ModelTopic | None:
        return next((topic for topic in self.topics if topic.name == name and topic.alive), None)

    def state(self, step: RequestStep) -> str:
        """What a request meets, in a word or two: coverage tells the same request in another state apart."""
        words = []
        if "transactional_id" in step.fields and self.producers:
            words.append("in transaction" if any(each.open for each in self.producers) else "idle")
        if (group := step.fields.get("group_id")) is not None:
            counts = {each.name: len(each.members) for each in self.groups}
            counts |= {self.consumers.name: len(self.consumers.members)}
            counts |= {self.shares.name: len(self.shares.members), self.streams.name: len(self.streams.members)}
            words.append(f"{counts.get(group, 0)} members")
        if step.api in ("Fetch", "ListOffsets", "Produce"):
            words.append("transaction open" if any(each.open for each in self.producers) else "plain")
        if step.api in ("ShareFetch", "ShareAcknowledge"):
            words.append("records held" if any(each.held for each in self.shares.members) else "none held")
        return ", ".join(words)
