"""Brings what leaders propose for their in-sync sets to the controller, and what it says back to them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from brokertrial.reference_impl import bugs
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, request

if TYPE_CHECKING:
    from brokertrial.reference_impl.clock import Timer
    from brokertrial.reference_impl.replica.leading import Proposal
    from brokertrial.reference_impl.replica.local_node import LocalNode
    from brokertrial.reference_impl.replica.partition import Partition

AskController = Callable[[Struct], Awaitable[Struct]]
_LOOK_S = 0.02
_NO_EPOCH = -1
log = logging.getLogger("replicas")
_WRONG = (errors.INVALID_REQUEST, errors.INELIGIBLE_REPLICA)


class IsrKeeper:
    """Looks over all partitions that are led here every few milliseconds."""

    def __init__(self, node: LocalNode, replicas: Iterable[Partition], ask: AskController) -> None:
        self._node, self._replicas, self._ask_controller = node, replicas, ask
        self._timer: Timer | None = None
        self._asking: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Looks from now on."""
        self._timer = self._node.clock.call_later(_LOOK_S, self._look)

    def stop(self) -> None:
        """Looks no more."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._asking:
            task.cancel()

    def _look(self) -> None:
        if len(self._asking) > 8 and bugs.on("B363"):
            return
        max_lag_s = self._node.config["replica.lag.time.max.ms"] / 1000
        eligible = [one for one in self._node.image.brokers.values() if one.may_join]
        alive = {(one.id, epoch) for one in eligible for epoch in (one.epoch, _NO_EPOCH)}
        for partition in self._replicas:
            proposal = partition.propose(max_lag_s, alive)
            if proposal is not None:
                task = asyncio.get_running_loop().create_task(self._ask(partition, proposal))
                self._asking.add(task)
                task.add_done_callback(self._done)
        self.start()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._asking.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a proposal failed", exc_info=error)

    async def _ask(self, partition: Partition, proposal: Proposal) -> None:
        """Until the controller answers: a proposal without an answer may hold or not, so both sets count meanwhile."""
        leading, members = partition.leading, zip(proposal.isr, proposal.broker_epochs, strict=True)
        part = {
            "partition_index": partition.index,
            "leader_epoch": partition.leader_epoch,
            "partition_epoch": proposal.partition_epoch,
            "new_isr_with_epochs": [{"broker_id": one, "broker_epoch": epoch} for one, epoch in members],
        }
        answer = await self._ask_controller(
            request(
                "AlterPartition", broker_id=self._node.node_id, broker_epoch=self._node.broker_epoch,
                topics=[{"topic_id": partition.topic_id, "partitions": [part]}],
            )
        )  # fmt: skip
        error = answer.error_code or answer.topics[0].partitions[0].error_code
        if error in _WRONG and leading is not None and leading.proposed is proposal:
            leading.refused()
