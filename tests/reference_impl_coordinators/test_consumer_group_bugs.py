"""Every planted bug of KIP-848 groups changes what members are told."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group import consumer_heartbeat, consumer_layout
from brokertrial.reference_impl.group.commits import commit_refusal
from brokertrial.reference_impl.group.consumer import NOTHING, ConsumerGroup, Parts
from brokertrial.reference_impl.group.consumer_effects import Beat, GroupChange, Refusal
from brokertrial.reference_impl.group.consumer_heartbeat import ConsumerLimits, Heartbeat

TOPIC = uuid.UUID(int=1)
LIMITS = ConsumerLimits(session_timeout_ms=10_000)


class Bench:
    """One group, one topic, and a clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.group, self.partitions, self.now = ConsumerGroup("g"), 2, 0

    def beat(self, member: str, epoch: int, owned: Parts = NOTHING, instance: str | None = None) -> Any:
        joins = epoch == 0
        asked = Heartbeat(
            member, epoch, instance, rebalance_timeout_ms=5_000 if joins else -1,
            names=frozenset({"t"}) if joins else None, owned=owned,
        )  # fmt: skip
        answer = consumer_heartbeat.heartbeat(self.group, asked, {"t": (TOPIC, self.partitions)}, self.now, LIMITS)
        return told(answer)

    def leave(self, member: str, instance: str | None, epoch: int) -> Any:
        return told(consumer_heartbeat.leave(self.group, member, instance, epoch))

    def wait(self, ms: int) -> list[str]:
        self.now += ms
        consumer_heartbeat.tick(self.group, self.now)
        return sorted(self.group.members)


def told(answer: Beat | Refusal) -> Any:
    if isinstance(answer, Refusal):
        return answer.error
    return answer.epoch, None if answer.assignment is None else sorted(index for _, index in answer.assignment)


def parts(*indexes: int) -> Parts:
    return frozenset((TOPIC, index) for index in indexes)


def holding_on(b: Bench) -> Any:
    found = [b.beat("a", 0), b.beat("b", 0), b.beat("a", 1, parts(0, 1)), b.beat("b", 2)]
    return found, b.wait(5_000)


def lost_answer(b: Bench) -> Any:
    b.beat("a", 0)
    b.beat("b", 0)
    b.beat("a", 1, parts(0, 1))
    found = [b.beat("a", 1, parts(0))]
    return found, b.beat("a", 1, parts(0)), b.beat("a", 77, parts(0))


def away(b: Bench) -> Any:
    b.beat("a", 0, instance="i")
    return b.leave("a", "i", -2), b.beat("b", 0), b.beat("c", 0, instance="i")


def growth(b: Bench) -> Any:
    b.beat("a", 0)
    b.partitions = 3
    return b.beat("a", 1, parts(0, 1))


def silence(b: Bench) -> Any:
    b.beat("a", 0)
    return b.wait(10_000)


def commits(b: Bench) -> Any:
    b.beat("a", 0)
    return [commit_refusal(b.group, "a", None, epoch, transactional=False, version=9) for epoch in (1, 2)]


PROBES: dict[str, Callable[[Bench], Any]] = {
    "M24b": holding_on,
    "M24c": lost_answer,
    "M24d": away,
    "M24e": lost_answer,
    "M24f": commits,
    "M24h": growth,
    "M24i": holding_on,
    "M26d": silence,
}


@pytest.fixture(autouse=True)
def _healthy_again() -> Iterator[None]:
    yield
    bugs.clear()


@pytest.mark.parametrize("bug", PROBES)
def test_a_planted_bug_changes_what_members_are_told(bug: str) -> None:
    healthy = PROBES[bug](Bench())
    bugs.plant(f"{bug}:every=1")
    assert PROBES[bug](Bench()) != healthy


def test_a_group_is_the_same_in_whatever_order_compaction_leaves_its_records() -> None:
    """Of each key the newest record stays where it is: a member's wishes may come behind its progress."""
    bench = Bench()
    changes: list[GroupChange] = []
    for epoch, names in ((0, {"t", "u"}), (1, {"t"})):
        asked = Heartbeat("a", epoch, "i", rebalance_timeout_ms=5_000, names=frozenset(names), owned=NOTHING)
        answer = consumer_heartbeat.heartbeat(bench.group, asked, {"t": (TOPIC, 2)}, 0, LIMITS)
        assert isinstance(answer, Beat)
        changes += answer.changes
    newest = dict(consumer_layout.rows("g", changes, 1))
    assert len(newest) == 5
    for rows in itertools.permutations(newest.items()):
        saved = ConsumerGroup("g")
        for key, value in rows:
            parsed = consumer_layout.read_key(key)
            assert parsed is not None
            consumer_layout.replay(saved, parsed, value)
        assert (saved.members, saved.static) == (bench.group.members, bench.group.static)
        assert (saved.target, saved.owners) == (bench.group.target, bench.group.owners)
        assert (saved.epoch, saved.assignment_epoch, saved.state) == (2, 2, bench.group.state)


def test_a_static_member_that_is_replaced_leaves_nothing_behind_in_the_log() -> None:
    """Its records go one by one; the last of them must not bring its instance id back."""
    bench = Bench()
    saved = ConsumerGroup("g")

    def save(answer: Beat | Refusal) -> None:
        assert isinstance(answer, Beat)
        for key, value in consumer_layout.rows("g", answer.changes, 1):
            parsed = consumer_layout.read_key(key)
            assert parsed is not None
            consumer_layout.replay(saved, parsed, value)

    topics = {"t": (TOPIC, 2)}
    joins = Heartbeat("a", 0, "i", rebalance_timeout_ms=5_000, names=frozenset({"t"}), owned=NOTHING)
    save(consumer_heartbeat.heartbeat(bench.group, joins, topics, 0, LIMITS))
    save(consumer_heartbeat.leave(bench.group, "a", "i", -1))
    assert not saved.members and not saved.static and not saved.owners and not saved.target
