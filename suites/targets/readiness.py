"""Whether a broker serves, asked in its own protocol: ApiVersions and Metadata of every node."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from suites.targets.base import TargetNotReady

_PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class Seen:
    """What one node said of its cluster."""

    brokers: dict[int, tuple[str, int]]


class NotYet(Exception):
    """What is still missing, for the sentence that is shown if it stays missing."""


def ask(address: tuple[str, int], timeout_s: float = 2.0) -> Seen:
    """Asks one node for ApiVersions and Metadata; NotYet with the reason where it does not answer."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        client = AdminClient({"bootstrap.servers": f"{address[0]}:{address[1]}", "log_level": 0})
        meta = client.list_topics(timeout=timeout_s)
    except KafkaException as error:
        raise NotYet(str(error)) from error
    return Seen({node.id: (str(node.host), node.port) for node in meta.brokers.values()})


def wait_until(what: str, question: Callable[[], None], within_s: float, must_run: Callable[[], None]) -> None:
    """Asks until the question raises NotYet no more. `must_run` is called between and may end the wait by raising."""
    deadline = time.monotonic() + within_s
    pause = threading.Event()
    while True:
        must_run()
        try:
            return question()
        except NotYet as reason:
            if time.monotonic() >= deadline:
                raise TargetNotReady(f"{what} within {within_s:g} s: {reason}") from reason
        pause.wait(_PAUSE_S)


def every_node_serves(addresses: Mapping[int, tuple[str, int]]) -> dict[int, Seen]:
    """Every address answers and names as many brokers as there are addresses; else NotYet."""
    seen: dict[int, Seen] = {}
    for node_id, address in addresses.items():
        seen[node_id] = ask(address)
        if len(seen[node_id].brokers) < len(addresses):
            named = sorted(seen[node_id].brokers)
            raise NotYet(f"node {node_id} names the brokers {named}, not all {len(addresses)}")
    return seen
