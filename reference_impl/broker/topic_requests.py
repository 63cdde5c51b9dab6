"""Topics made on first use: the controller is asked, each name at most once a second, and nobody waits for it."""

from __future__ import annotations

from collections.abc import Mapping

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.broker.membership import BrokerMembership
from brokertrial.reference_impl.clock import Clock
from brokertrial.wire.messages import request

AGAIN_AFTER_S = 1.0
MOST_REMEMBERED = 1000


class TopicRequests:
    """Remembers which names were asked for lately."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due_s: dict[str, float] = {}

    def ask(self, membership: BrokerMembership, name: str, count: int, factor: int, configs: Mapping[str, str]) -> None:
        """Asks, unless it was done within the last second; -1 leaves count or factor to the controller."""
        now_s = self._clock.monotonic()
        if now_s < self._due_s.get(name, now_s) or (name in self._due_s and bugs.on("B60")):
            return
        if len(self._due_s) > MOST_REMEMBERED:
            self._due_s = {one: due_s for one, due_s in self._due_s.items() if due_s > now_s}
        self._due_s[name] = now_s + AGAIN_AFTER_S
        entries = [{"name": key, "value": value} for key, value in configs.items()]
        wanted = {"name": name, "num_partitions": count, "replication_factor": factor, "configs": entries}
        membership.soon(request("CreateTopics", topics=[wanted], timeout_ms=5000), 7)
