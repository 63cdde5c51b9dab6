"""A broker as a member of a cluster: follows the metadata log, registers, gives signs of life, asks the controller.

Two connections: one on which the metadata log comes in, one for everything else. Both are made again whenever they
break; while the controller is away, data keeps flowing and nothing can be changed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import CloseConnection
from brokertrial.reference_impl.txn.pids import NoBlockYet
from brokertrial.wire import errors, records
from brokertrial.wire.aio import AsyncConnection
from brokertrial.wire.codec import Malformed
from brokertrial.wire.conversation import ConnectionFailed
from brokertrial.wire.messages import Struct, request, response

if TYPE_CHECKING:
    from brokertrial.reference_impl.replica.local_node import LocalNode

log = logging.getLogger("membership")

METADATA_TOPIC = "__cluster_metadata"
METADATA_VERSION = 12
_WAIT_MS = 1000
_AGAIN_S = 0.03
_TIMEOUT_S = 5.0
_FORWARD_S = 30.0  # request.timeout.ms of a Kafka broker
_BLOCK = 1000
_VERSIONS = {"BrokerRegistration": 4, "BrokerHeartbeat": 1, "AlterPartition": 3, "AllocateProducerIds": 0}
_RESTING = (ConnectionFailed, Malformed, OSError)


class BrokerMembership:
    """The link between one broker and its controller."""

    def __init__(self, node: LocalNode, controller: tuple[str, int]) -> None:
        self._node, self._controller = node, controller
        self._incarnation = uuid.UUID(int=node.rng.getrandbits(128), version=4)
        self.broker_epoch = -1
        self._leaving = False
        self._connection: AsyncConnection | None = None
        self._connecting = asyncio.Lock()
        self._applied = asyncio.Event()
        self._soon = asyncio.Event()
        self._unfenced = asyncio.Event()
        self._may_stop = asyncio.Event()
        self._blocks: list[int] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._lost_line = False
        """Whether the line on which the metadata log comes in is a new one."""

    # Life

    async def enter(self) -> None:
        """Reads the metadata log, registers, and reads on to its own registration.

        Only then may logs be opened: before it, the log may say that this broker's earlier self still leads.
        """
        connection = await self._open()
        end = await self._fetch_metadata(connection, wait_ms=0)
        await connection.close()
        self._keep(self._follow())
        await self._read_to(end)
        await self._register()
        await self._read_to(self.broker_epoch + 1)

    async def _read_to(self, end: int) -> None:
        while self._node.journal.end < end:
            self._applied.clear()
            await self._applied.wait()

    async def take_part(self) -> None:
        """Gives signs of life, and returns when this broker may lead."""
        self._keep(self._live())
        self._keep(self._stock_producer_ids())
        await self._unfenced.wait()
        while not self._blocks:
            await asyncio.sleep(0.01)

    async def leave(self, within_s: float = 5.0) -> None:
        """Asks the controller to let others lead first; gives up after a while."""
        self._leaving = True
        self._soon.set()
        try:
            async with asyncio.timeout(within_s):
                await self._may_stop.wait()
        except TimeoutError:
            log.warning("stopping although this broker still leads: the controller did not let it go")

    async def close(self) -> None:
        """Ends both connections."""
        for task in self._tasks:
            task.cancel()
        if self._connection is not None:
            await self._connection.close()

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Does this in the background. Should it fail, the broker ends: better dead than deaf to the controller."""
        task = asyncio.create_task(work)
        self._tasks = [one for one in self._tasks if not one.done()]
        self._tasks.append(task)
        task.add_done_callback(_must_not_fail)

    # The metadata log

    async def _open(self) -> AsyncConnection:
        while True:
            try:
                return await AsyncConnection.open(
                    *self._controller, client_id=f"broker-{self._node.node_id}", timeout_s=_TIMEOUT_S
                )
            except ConnectionFailed as error:
                log.info("the controller is not there: %s", error)
                await asyncio.sleep(_AGAIN_S)

    async def _follow(self) -> None:
        while True:
            connection = await self._open()
            try:
                while True:
                    await self._fetch_metadata(connection, wait_ms=_WAIT_MS)
            except _RESTING as error:
                log.info("the metadata log is cut off: %s", error)
                self._lost_line = True
            finally:
                await connection.close()
            await asyncio.sleep(_AGAIN_S)

    async def _fetch_metadata(self, connection: AsyncConnection, *, wait_ms: int) -> int:
        """Applies what is new; the end of the controller's log."""
        journal = self._node.journal
        wanted = {"partition": 0, "fetch_offset": journal.end, "partition_max_bytes": 1 << 20}
        asked = request(
            "Fetch", replica_id=self._node.node_id, max_wait_ms=wait_ms, min_bytes=1,
            topics=[{"topic": METADATA_TOPIC, "partitions": [wanted]}],
        )  # fmt: skip
        part = (await connection.call(asked, METADATA_VERSION)).responses[0].partitions[0]
        was_away = part.high_watermark - journal.end > 100
        for batch in records.batches(part.records or b""):
            for record in batch.records():
                if record.offset == journal.end and record.value is not None:
                    text = bytes(record.value)
                    passed_by = was_away and b'"topic_deleted"' in text and bugs.on("K29")
                    if passed_by or (self._lost_line and b'"topic_configs"' in text and bugs.on("B12")):
                        text = b'{"kind":"cluster","id":"%s"}' % journal.image.cluster_id.encode()
                    journal.follow(text)
                    await asyncio.sleep(0)  # a record may mean much work: signs of life go out in between
        self._lost_line = False
        self._applied.set()
        end: int = part.high_watermark
        return end

    # Signs of life

    async def _register(self) -> None:
        node = self._node
        places = {"CLIENTS": (node.host, node.port)} | ({"BROKERS": peers} if (peers := node.config.peers) else {})
        listeners = [
            {"name": name, "host": host, "port": port, "security_protocol": 0} for name, (host, port) in places.items()
        ]
        answer = await self.call(
            request(
                "BrokerRegistration", broker_id=node.node_id, cluster_id=node.cluster_id,
                incarnation_id=self._incarnation, listeners=listeners, rack=node.config["broker.rack"] or None,
            )
        )  # fmt: skip
        self.broker_epoch = answer.broker_epoch

    async def _live(self) -> None:
        interval_s = self._node.config["broker.heartbeat.interval.ms"] / 1000
        while True:
            answer = await self._heartbeat()
            if answer.error_code == errors.STALE_BROKER_EPOCH:
                await self._register()
                continue
            pause_s = interval_s
            if answer.is_fenced:
                pause_s = min(interval_s, 0.02)
            else:
                self._unfenced.set()
            if answer.should_shut_down:
                self._may_stop.set()
            elif self._leaving:
                pause_s = min(interval_s, 0.05)
            self._soon.clear()
            try:
                async with asyncio.timeout(pause_s):
                    await self._soon.wait()
            except TimeoutError:
                pass

    async def _heartbeat(self) -> Struct:
        return await self.call(
            request(
                "BrokerHeartbeat", broker_id=self._node.node_id, broker_epoch=self.broker_epoch,
                current_metadata_offset=self._node.journal.end, want_shut_down=self._leaving,
            )
        )  # fmt: skip

    # Requests

    async def call(self, message: Struct, version: int | None = None) -> Struct:
        """Asks the controller, again and again until it answers."""
        wanted = _VERSIONS[message._api] if version is None else version
        while True:
            try:
                return await self._once(message, wanted)
            except _RESTING as error:
                log.info("%s to the controller: %s", message._api, error)
                if message._api == "AlterPartition" and bugs.on("B23"):
                    raise
                if message._api == "BrokerHeartbeat" and bugs.on("B06"):
                    os._exit(1)
                await asyncio.sleep(_AGAIN_S)

    async def _once(self, message: Struct, version: int) -> Struct:
        async with self._connecting:
            if self._connection is None:
                self._connection = await AsyncConnection.open(
                    *self._controller, client_id=f"broker-{self._node.node_id}", timeout_s=_TIMEOUT_S
                )
        connection = self._connection
        try:
            return await connection.call(message, version)
        except _RESTING:
            if self._connection is connection:
                self._connection = None
                await connection.close()
            raise

    async def forward(self, message: Struct, version: int) -> Struct:
        """Has the controller answer an administrator's request, and waits until its effect is known here.

        It is asked again where the connection breaks, for a while, as Kafka does (NodeToControllerRequestThread).
        """
        answer, heard = await self._until_answered(message, version)
        while heard and not (await self._heartbeat()).is_caught_up:
            self._applied.clear()
            try:
                async with asyncio.timeout(0.05):
                    await self._applied.wait()
            except TimeoutError:
                pass
        return answer

    async def _until_answered(self, message: Struct, version: int) -> tuple[Struct, bool]:
        """The answer, and whether it is the controller's."""
        deadline_s = self._node.clock.monotonic() + _FORWARD_S
        while True:
            try:
                return await self._once(message, version), True
            except _RESTING as error:
                log.info("%s to the controller: %s", message._api, error)
                if message._api == "CreatePartitions" and bugs.on("B11"):
                    return response("CreatePartitions", results=[{"name": row.name} for row in message.topics]), False
                if self._node.clock.monotonic() >= deadline_s:
                    raise CloseConnection(f"the controller did not answer {message._api}") from error
                await asyncio.sleep(_AGAIN_S)

    def soon(self, message: Struct, version: int) -> None:
        """The same for something that this broker wants itself, such as an internal topic; nobody waits for it."""
        self._keep(self._quietly(message, version))

    async def _quietly(self, message: Struct, version: int) -> None:
        try:
            await self._once(message, version)
        except _RESTING as error:
            log.info("%s to the controller: %s", message._api, error)

    # Producer ids

    def take_block(self) -> int:
        """The first of a thousand producer ids; another block is on its way at once."""
        if not self._blocks:
            raise NoBlockYet("no producer ids yet")
        block = self._blocks[-1] if bugs.on("B183") else self._blocks.pop(0)
        self._keep(self._stock_producer_ids())
        return block

    async def _stock_producer_ids(self) -> None:
        answer = await self.call(
            request("AllocateProducerIds", broker_id=self._node.node_id, broker_epoch=self.broker_epoch)
        )
        self._blocks.append(answer.producer_id_start)


def _must_not_fail(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("the link to the controller is broken for good; this broker ends", exc_info=error)
        os._exit(1)
