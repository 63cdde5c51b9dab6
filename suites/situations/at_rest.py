"""What a probe knows of the cluster and waits for after its nodes were disturbed: all of it serves again.

A case may ask for exact errors and take no retriable one: what a broker answers while leaders, replicas and
coordinators settle is not what the case is about.
"""

from __future__ import annotations

from typing import Self

from brokertrial.suites.probe.coordinated import GROUP
from brokertrial.suites.probe.core import COORDINATOR_BUSY
from brokertrial.suites.probe.failures import NoResponse, StatementFalse
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire import errors
from brokertrial.wire.messages import request

RETURNS_S = 60.0
"""For nodes, replicas, leaders and coordinators to be as before."""
UNSETTLED = (*COORDINATOR_BUSY, errors.UNSTABLE_OFFSET_COMMIT)


class AtRest:
    """What was there before: nodes, topics, and the groups and transactional ids that the case has used."""

    def __init__(self, nodes: int, topics: list[str], coordinated: list[tuple[int, str]]) -> None:
        self._nodes = nodes
        self._topics = topics
        self._coordinated = coordinated

    @classmethod
    def now(cls, wire: Wire) -> Self:
        """What the probe knows now; topics that were deleted are not waited for."""
        for topic in wire.known_topics:
            wire.refresh_metadata(topic)
        return cls(len(wire.nodes), wire.known_topics, wire.known_coordinators)

    def must_come_back(self, wire: Wire) -> None:
        """Waits until it serves again; that it does not is a failure of the broker."""
        wire.until(lambda: self._nodes_are_back(wire), within=RETURNS_S, what="every node is in the metadata again")
        for topic in self._topics:
            wire.await_topic(topic)
        for kind, key in self._coordinated:
            wire.until(
                lambda kind=kind, key=key: self._is_coordinated(wire, kind, key),  # type: ignore[misc]
                within=RETURNS_S,
                what=f"the coordinator of {key} serves again",
            )

    def _nodes_are_back(self, wire: Wire) -> bool:
        try:
            wire.refresh_metadata()
        except NoResponse:
            return False
        return len(wire.nodes) == self._nodes

    def _is_coordinated(self, wire: Wire, kind: int, key: str) -> bool:
        wire.forget_coordinator(key, kind)
        try:
            wire.coordinator(key, kind)
            if kind == GROUP:
                return wire.committed_all(key, retry=False).error not in UNSETTLED
            if not wire.versions("DescribeTransactions"):
                return True
            asked = request("DescribeTransactions", transactional_ids=[key])
            answer = wire.ask(asked, to=lambda: wire.coordinator(key, kind))
            return answer.struct.transaction_states[0].error_code not in UNSETTLED
        except (NoResponse, StatementFalse):
            return False
