"""The event loop of a node that runs in this process: its turns are given to it, and its clock is the cluster's."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.suites.in_process import NOW_MS
from tests.suites.in_process_connection import MemoryServer

if TYPE_CHECKING:
    from tests.suites.in_process_cluster import InProcessCluster, Member

FOREVER = float("inf")
BURIALS = 20


class Ended(SystemExit):
    """A process has ended by itself."""


class Deaf(selectors.SelectSelector):
    """Nothing comes from outside."""

    def select(self, timeout: float | None = None) -> list[Any]:
        return []


class NodeLoop(asyncio.SelectorEventLoop):
    """Runs a turn when it is told to, by the clock of the cluster."""

    def __init__(self, cluster: InProcessCluster, member: Member) -> None:
        self.cluster, self.member = cluster, member
        self.frozen = self.dead = False
        self.servers: list[MemoryServer] = []
        super().__init__(Deaf())

    async def create_server(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        self.servers.append(MemoryServer(port or next(self.cluster.ports)))
        return self.servers[-1]

    def time(self) -> float:
        return self.cluster.now_s

    @property
    def runs(self) -> bool:
        return not (self.frozen or self.dead)

    @property
    def due_s(self) -> float:
        """When there is something to do."""
        if self._ready:
            return self.cluster.now_s
        return self._scheduled[0]._when if self._scheduled else FOREVER

    def turn(self) -> None:
        """Does what is due: one round of run_forever, without what it sets up and takes down each time."""
        around = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            self._run_once()
        except Ended:
            if self.dead:
                return
            self.member.failure = "it ended by itself"
            self.member.vanish()
        finally:
            asyncio._set_running_loop(around)


class LoopClock:
    """The clock of a node."""

    def __init__(self, loop: NodeLoop) -> None:
        self._loop = loop

    def now_ms(self) -> int:
        return NOW_MS + round(self._loop.time() * 1000)

    def monotonic(self) -> float:
        return self._loop.time()

    def call_later(self, delay_s: float, action: Callable[[], object]) -> asyncio.TimerHandle:
        return self._loop.call_later(delay_s, action)


def bury(loop: NodeLoop, protocols: list[Any]) -> None:
    """Its tasks are cancelled; what they say then is heard by nobody."""
    loop.set_exception_handler(lambda *_: None)
    for planned in loop._scheduled:
        planned.cancel()
    for protocol in protocols:
        if isinstance(protocol, asyncio.StreamReaderProtocol):
            loop.call_soon(protocol.connection_lost, None)
    for _ in range(BURIALS):
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.turn()
    loop.close()
