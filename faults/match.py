"""Which messages a window is about: by client, node, API and what the request says, and which of those it picks."""

import fnmatch
import re
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec

from brokertrial.wire.messages import Struct

_REPLICA = re.compile(r"(leader|followers?)\(\s*([^,()\s]+)\s*,\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)$")
_OTHERS = re.compile(r"others\((.+)\)$")
_COORDINATOR = re.compile(r"(coordinator|transaction_coordinator)\((.+)\)$")


class BadSelector(ValueError):
    """A node selector that nobody understands; the sentence lists those that exist."""


class Match(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A message matches when everything that is set here is true of it.

    `client` is a pattern for client.id. `node` is `any`, an id, or a role: `leader(topic,partition)`,
    `follower(topic,partition)` (the first in the order of the replicas, `follower(topic,partition,2)` the second),
    `followers(topic,partition)` (all of them), `coordinator(group)`, `transaction_coordinator(id)`, `controller`, and
    `others(role)`, every other node.
    `fields` names fields of the request: {"acks": -1}. Of those that match, the first `skip` are let go, then each
    `every`-th is picked, `count` times.
    """

    client: str = "*"
    node: str = "any"
    api: tuple[str, ...] = ()
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None
    fields: dict[str, Any] = {}
    skip: int = 0
    every: int = 1
    count: int | None = None

    def needs_body(self) -> bool:
        """Whether the header of a request does not suffice to decide."""
        return (
            self.topic is not None
            or self.partition is not None
            or self.group is not None
            or self.transactional_id is not None
            or bool(self.fields)
        )

    def picks(self, ordinal: int) -> bool:
        """Whether the matching message number `ordinal` (from 1) is one to disturb; `count` comes after."""
        return ordinal > self.skip and (ordinal - self.skip) % self.every == 0

    def words(self, noun: str, preposition: str) -> str:
        """For people: `20 Produce responses from leader(t,0), each 7th, after 6`."""
        many = "" if self.count in (1, None) else "s"
        parts = ["every" if self.count is None else str(self.count), *(["/".join(self.api)] if self.api else [])]
        parts.append(noun + many)
        if self.node != "any":
            parts += [preposition, f"node {self.node}" if self.node.isdigit() else self.node]
        parts += [f"of {self.client}"] if self.client != "*" else []
        parts += [f"with {what}" for what in self._conditions()]
        text = " ".join(parts)
        text += f", each {ordinal(self.every)}" if self.every != 1 else ""
        text += f" after {self.skip}" if self.skip else ""
        return text

    def _conditions(self) -> Iterator[str]:
        for name in ("topic", "partition", "group", "transactional_id"):
            if (value := getattr(self, name)) is not None:
                yield f"{name} {value}"
        for name, value in self.fields.items():
            yield f"{name} = {value}"


class ClusterState(Protocol):
    """What has been seen of the cluster so far; None: not known yet."""

    leaderless: bool
    controller: int | None
    nodes: frozenset[int]

    def leader(self, topic: str, partition: int) -> int | None: ...
    def followers(self, topic: str, partition: int) -> tuple[int, ...] | None: ...
    def coordinator(self, group: str) -> int | None: ...
    def transaction_coordinator(self, transactional_id: str) -> int | None: ...
    def topic_name(self, topic_id: object) -> str | None: ...


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 4th ..."""
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def resolve(selector: str, facts: ClusterState) -> tuple[int, ...] | None:
    """The nodes that a selector names right now; None when that is not known. `any` is none: BadSelector."""
    if selector.lstrip("-").isdigit():
        return (int(selector),)
    if selector == "controller":
        return _one(facts.controller)
    if named := _OTHERS.match(selector):
        nodes = resolve(named[1].strip(), facts)
        return None if nodes is None else tuple(sorted(facts.nodes.difference(nodes))) or None
    if (named := _COORDINATOR.match(selector)) and named[1] == "coordinator":
        return _one(facts.coordinator(named[2].strip()))
    if named:
        return _one(facts.transaction_coordinator(named[2].strip()))
    if (named := _REPLICA.match(selector)) and (named[4] is None or named[1] == "follower"):
        return _replicas(named[1], named[2], int(named[3]), int(named[4] or 1), facts)
    raise BadSelector(
        f"{selector!r} names no node; known are any, a node id, leader(topic,partition), follower(topic,partition), "
        "follower(topic,partition,n), followers(topic,partition), coordinator(group), transaction_coordinator(id), "
        "controller and others(role)."
    )


def _replicas(role: str, topic: str, partition: int, number: int, facts: ClusterState) -> tuple[int, ...] | None:
    if role == "leader":
        return _one(facts.leader(topic, partition))
    found = facts.followers(topic, partition)
    if found is None or role == "followers":
        return found
    return (found[number - 1],) if 1 <= number <= len(found) else None


def _one(node: int | None) -> tuple[int, ...] | None:
    return None if node is None else (node,)


def node_test(selector: str) -> Callable[[int, ClusterState], bool]:
    """A test whether a node is one that the selector names; on a leaderless target every node leads."""
    if selector == "any":
        return lambda node, facts: True
    if selector.startswith("leader("):
        return lambda node, facts: facts.leaderless or node in (resolve(selector, facts) or ())
    return lambda node, facts: node in (resolve(selector, facts) or ())


def client_test(pattern: str) -> Callable[[str], bool]:
    """A test for client.id, by shell pattern."""
    return re.compile(fnmatch.translate(pattern)).match if pattern != "*" else lambda name: True  # type: ignore[return-value]


def body_matches(match: Match, request: Struct, facts: ClusterState) -> bool:
    """Whether the request's own fields are those that the match asks for."""
    if match.topic is not None or match.partition is not None:
        wanted = ((topic, partition) for topic, partition in partitions_of(request, facts))
        if not any(_is(match.topic, topic) and _is(match.partition, partition) for topic, partition in wanted):
            return False
    if match.group is not None and match.group not in _named(
        request, "group_id", "groups", "consumer_group_id", "groups_names"
    ):
        return False
    if match.transactional_id is not None and match.transactional_id not in _named(
        request, "transactional_id", "transactions"
    ):
        return False
    return all(getattr(request, name, None) == value for name, value in match.fields.items())


def partitions_of(request: Struct, facts: ClusterState) -> Iterator[tuple[str | None, int | None]]:
    """Every (topic, partition) that a request names; a bare topic has partition None."""
    for holder in _structs(request):
        name = getattr(holder, "name", None) or getattr(holder, "topic", None)
        if name is None and (topic_id := getattr(holder, "topic_id", None)) is not None:
            name = facts.topic_name(topic_id)
        if not isinstance(name, str):
            continue
        numbers = list(_partition_numbers(holder))
        yield from ((name, number) for number in numbers) if numbers else [(name, None)]


def _structs(request: Struct) -> Iterator[Any]:
    """The elements of the request's own arrays, one level down."""
    for name in request._names:
        value = getattr(request, name, None)
        if isinstance(value, list | tuple):
            yield from (element for element in value if isinstance(element, Struct))


def _partition_numbers(holder: Any) -> Iterator[int]:
    for name in ("partitions", "partition_data", "partition_indexes"):
        for element in getattr(holder, name, None) or ():
            if isinstance(element, int):
                yield element
            else:
                for key in ("index", "partition_index", "partition"):
                    if isinstance(number := getattr(element, key, None), int):
                        yield number
                        break


def _named(request: Struct, own: str, listed: str, *others: str) -> set[str]:
    """The names that a request gives to one kind of thing: its own field and those of the list of them."""
    names = {getattr(request, field, None) for field in (own, *others)}
    for element in getattr(request, listed, None) or ():
        names.add(element if isinstance(element, str) else getattr(element, own, None))
    return {name for name in names if isinstance(name, str)}


def _is(wanted: object, seen: object) -> bool:
    return wanted is None or wanted == seen
