"""The edge between a follower and one leader: a connection, one Fetch after the other, for as long as there is work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.clock import Clock
from brokertrial.reference_impl.replica.following import Following
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.reference_impl.replica.serving import TopicIdPartition
from brokertrial.reference_impl.replica.throttle import Unthrottled
from brokertrial.wire.aio import AsyncConnection
from brokertrial.wire.codec import Malformed
from brokertrial.wire.conversation import ConnectionFailed

FETCH_VERSION = 17
_AGAIN_S = 0.05
_TIMEOUT_S = 3.0
log = logging.getLogger("replication")


class Fetcher:
    """Follows one leader. `address` is asked before every connection: the leader may come back elsewhere."""

    def __init__(
        self, me: int, wait_ms: int, clock: Clock, address: Callable[[], tuple[str, int] | None],
        broker_epoch: Callable[[], int], throttle: Unthrottled,
    ) -> None:  # fmt: skip
        self._following = Following(me, wait_ms)
        self._following.throttle = throttle
        self._clock, self._address, self._broker_epoch = clock, address, broker_epoch
        self._me = me
        self._work = asyncio.Event()
        self._running = asyncio.Event()
        self._running.set()
        self._task: asyncio.Task[None] | None = None
        self._has_followed = False

    def follow(self, key: TopicIdPartition, partition: Partition) -> None:
        """Fetches this partition from now on."""
        self._following.follow(key, partition)
        self._work.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def leave(self, key: TopicIdPartition) -> None:
        """Fetches this partition no more."""
        self._following.leave(key)

    def pause(self) -> None:
        """Stands still after the answer that is on its way (control channel)."""
        self._running.clear()

    def resume(self) -> None:
        """Goes on after `pause`."""
        self._running.set()

    def stop(self) -> None:
        """Ends the connection and the task."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        while True:
            await self._has_work()
            address = self._address()
            try:
                if address is not None:
                    await self._converse(*address)
            except (ConnectionFailed, Malformed, OSError) as error:
                log.info("following the leader at %s: %s", address, error)
                if self._has_followed and bugs.on("B05"):
                    return
            except Exception:
                log.exception("following the leader at %s failed", address)
            await asyncio.sleep(_AGAIN_S)

    async def _has_work(self) -> None:
        while not len(self._following):
            self._work.clear()
            await self._work.wait()

    async def _converse(self, host: str, port: int) -> None:
        connection = await AsyncConnection.open(host, port, client_id=f"broker-{self._me}", timeout_s=_TIMEOUT_S)
        try:
            self._following.restart()
            while True:
                await self._has_work()
                await self._running.wait()
                asked = self._following.request(self._broker_epoch(), self._clock.monotonic())
                answer = await connection.call(asked, FETCH_VERSION)
                await self._running.wait()
                self._following.take(answer, self._clock.monotonic())
                self._has_followed = True
                if answer.error_code:  # the leader has not heard of this life of ours yet, or forgot the session
                    await asyncio.sleep(_AGAIN_S)
        finally:
            await connection.close()
