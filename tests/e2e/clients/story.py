"""What a user of any client library does, told once: topics, a group, an exactly-once copy. One line for all that held.

A program gives its library's way of doing each step (`Client`); what went wrong in a way that a user would try again is
`Again`. Run as a program: `python -P -m tests.clients.LIBRARY_program BOOTSTRAP [SECONDS]`, the last being how long the
copy goes on, so that brokers may die meanwhile.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol, TypeVar

T = TypeVar("T")
DEADLINE_S = 180.0
RECORDS, PARTITIONS = 30, 3


class Again(Exception):
    """A step failed, and nothing is wrong with that: it is done again."""


class Member(Protocol):
    """A consumer in a group, read_committed, from the earliest record on."""

    def poll(self) -> list[bytes]:
        """What has come, after a moment's wait."""

    def assigned(self) -> int:
        """How many partitions are its own."""

    def commit(self) -> None:
        """Commits what it has polled. May raise Again."""

    def committed(self) -> int:
        """The committed offsets of all partitions, summed up. May raise Again."""

    def close(self) -> None:
        """Leaves the group."""


class Copier(Protocol):
    """A consumer and a transactional producer; both are made anew after a failure."""

    def step(self, aborts: Iterator[bool]) -> None:
        """One transaction over what a poll brings, with its offsets; aborted when it fails or is the next to be."""

    def committed(self) -> int:
        """As for a member."""

    def close(self) -> None:
        """Ends both."""


class Client(Protocol):
    """One library."""

    name: str
    protocols: tuple[str, ...]

    def create(self, topics: list[str]) -> None:
        """Makes topics of three partitions, with as many copies as the broker thinks right."""

    def fill(self, topic: str, values: range) -> None:
        """Sends the values, round the partitions, with acks=all; returns when all are acknowledged."""

    def member(self, protocol: str, topic: str) -> Member:
        """A member of the group that is named as its topic."""

    def copier(self, source: str, target: str) -> Copier:
        """Copies a topic exactly once."""

    def close(self) -> None:
        """Ends what is left."""


def main(make: Callable[[str], Client]) -> None:
    """Tells the story; an AssertionError says what did not hold."""
    client = make(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    try:
        again(lambda: client.create([f"{client.name}-{what}" for what in (*client.protocols, "in", "out")]))
        say("topics")
        for protocol in client.protocols:
            group(client, protocol)
        exactly_once(client, seconds)
    finally:
        client.close()


def group(client: Client, protocol: str) -> None:
    """Two members of one group read everything, share the partitions, and one takes over when the other leaves."""
    topic = f"{client.name}-{protocol}"
    client.fill(topic, range(RECORDS))
    one, seen = client.member(protocol, topic), set[bytes]()
    try:
        until(f"{protocol}: all records", lambda: (seen.update(one.poll()), len(seen) == RECORDS)[1])
        again(one.commit)
        two = client.member(protocol, topic)
        try:
            until(f"{protocol}: a share for both", lambda: _shared(one, two, seen))
        finally:
            two.close()
        until(f"{protocol}: everything again", lambda: (one.poll(), one.assigned() == PARTITIONS)[1])
        until(f"{protocol}: what was committed", lambda: again(one.committed) == RECORDS)
    finally:
        one.close()
    say(f"group protocol {protocol}")


def _shared(one: Member, two: Member, seen: set[bytes]) -> bool:
    for member in (one, two):
        seen.update(member.poll())
    owned = one.assigned(), two.assigned()
    return sum(owned) == PARTITIONS and all(owned)


def exactly_once(client: Client, seconds: float) -> None:
    """Copies a topic in transactions, every third of which is aborted; readers of committed data see each once."""
    source, target = f"{client.name}-in", f"{client.name}-out"
    aborts, sent, ends = itertools.cycle((True, False, False)), 0, time.monotonic() + seconds
    copier = client.copier(source, target)
    try:
        for first in rounds(ends):
            sent = first + RECORDS
            client.fill(source, range(first, sent))
            until("exactly once: all copied", partial(_copied, copier, aborts, sent))
    finally:
        copier.close()
    found = Counter[bytes]()
    sink = client.member(client.protocols[0], target)
    try:
        until("exactly once: all read", lambda: (found.update(sink.poll()), len(found) == sent)[1])
        found.update(sink.poll())
    finally:
        sink.close()
    assert sorted(map(int, found)) == list(range(sent)), "other records were read than were sent"
    doubled = [value for value, count in found.items() if count > 1]
    assert not doubled, f"{len(doubled)} records were copied twice, the first is {doubled[0]!r}"
    say("exactly once")


def rounds(ends: float) -> Iterator[int]:
    """The first value of each round, until the time is up; one round at least."""
    for first in itertools.count(0, RECORDS):
        yield first
        if time.monotonic() > ends:
            return


def _copied(copier: Copier, aborts: Iterator[bool], sent: int) -> bool:
    copier.step(aborts)  # which are asked for transactions alone: empty polls may come in step with them, for ever
    return again(copier.committed) == sent


def until(what: str, holds: Callable[[], bool]) -> None:
    """Asks until it holds; an AssertionError names what did not."""
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, f"waited {DEADLINE_S:g} s in vain for {what}"


def again(step: Callable[[], T]) -> T:
    """Does it until it is not `Again`."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            return step()
        except Again as problem:
            assert time.monotonic() < deadline, f"tried in vain for {DEADLINE_S:g} s: {problem}"


def say(what: str) -> None:
    """For who reads the output."""
    print(f"held: {what}", flush=True)
