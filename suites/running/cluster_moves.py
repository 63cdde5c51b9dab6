"""Whether leaderships moved in a cluster while nobody of us moved them: nodes that a busy machine kept from their
heartbeats are fenced, controllers are elected anew, and what was under way then says little of the broker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec

from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire import errors
from brokertrial.wire.messages import request

INTERNAL = ("__consumer_offsets", "__transaction_state")
METADATA_LOG = "__cluster_metadata"


class Leadership(msgspec.Struct, frozen=True):
    """Who leads what at one time."""

    nodes: tuple[int, ...] = ()
    coordinators: tuple[tuple[str, int, int], ...] = ()
    """Topic, partition and leader epoch of the topics of the coordinators."""
    controller_epoch: int = -1
    """Of the quorum of controllers; -1 where it is not told."""


class ClusterMoves:
    """Looks at the cluster, and remembers what it saw last."""

    def __init__(self, probe: Callable[[], Wire]) -> None:
        self._probe = probe
        self._last: Leadership | None = None
        self._lock = threading.Lock()

    def known(self) -> Leadership | None:
        """What was seen last; looks where nothing was. None: the cluster does not tell."""
        with self._lock:
            if self._last is None:
                self._last = self._look()
            return self._last

    def forget(self) -> None:
        """A case begins that moves leaderships: what was seen before it says nothing of the next."""
        with self._lock:
            self._last = None

    def since(self, before: Leadership | None) -> str:
        """What has moved since then, in words; empty where nothing has, or where it is not known."""
        with self._lock:
            self._last = self._look()
            return "" if before is None or self._last is None else moved(before, self._last)

    def _look(self) -> Leadership | None:
        wire = self._probe()
        try:
            told = wire.metadata(*INTERNAL).struct
            places = [
                (row.name, part.partition_index, part.leader_epoch) for row in told.topics for part in row.partitions
            ]
            nodes = tuple(sorted(row.node_id for row in told.brokers))
            return Leadership(nodes, tuple(sorted(places)), _controller_epoch(wire))
        except (BrokerAtFault, NotApplicable, Unclear):
            return None
        finally:
            wire.drop_lines()


def moved(before: Leadership, now: Leadership) -> str:
    """What is not as it was; a topic that has come meanwhile has not moved."""
    if before.nodes != now.nodes:
        return f"nodes {list(before.nodes)} were named by Metadata, then {list(now.nodes)}"
    if before.controller_epoch != now.controller_epoch:
        return f"the controllers elected anew (epoch {before.controller_epoch}, then {now.controller_epoch})"
    epochs = {(topic, partition): epoch for topic, partition, epoch in before.coordinators}
    for topic, partition, epoch in now.coordinators:
        if epochs.get((topic, partition), epoch) != epoch:
            return f"{topic}-{partition} had leader epoch {epochs[topic, partition]}, then {epoch}"
    return ""


def _controller_epoch(wire: Wire) -> int:
    if not wire.versions("DescribeQuorum"):
        return -1
    topics = [{"topic_name": METADATA_LOG, "partitions": [{"partition_index": 0}]}]
    answer = wire.ask(request("DescribeQuorum", topics=topics)).struct
    if answer.error_code or not answer.topics or answer.topics[0].partitions[0].error_code != errors.NONE:
        return -1
    return int(answer.topics[0].partitions[0].leader_epoch)
