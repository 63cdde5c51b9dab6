"""A cluster of the bundled broker in this process, on virtual time: wire cases of several nodes in a second.

Each broker, and the controller, has an event loop of its own. They share one clock, which moves only when none of them
has anything to do. Connections, of the case and between nodes, are memory. A node that is killed is run no more, one
that is frozen not until it goes on, and what comes for it waits, as does what is sent to and from one that is cut off.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from brokertrial.faults.apart import UnmetCut
from brokertrial.faults.packets import Service
from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.broker.node import Node
from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.suites.case import Case
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.exchanger import ClosedByPeer, ConnectRefused, ReadTimeout, TranscriptEntry
from brokertrial.suites.probe.run_case import Look, attempt
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import Outcome
from brokertrial.suites.targets.node_ids import CONTROLLER, node_ids
from brokertrial.suites.targets.reference import replicated
from tests.suites.in_process import NOW_MS
from tests.suites.in_process_connection import End
from tests.suites.in_process_cuts import Cuts
from tests.suites.in_process_loop import Ended, LoopClock, NodeLoop, bury

NODES = 3
READY_S, STOP_S = 90.0, 15.0
A_REQUEST_S = 0.0005
"""What asking takes, so that nobody asks for ever at one moment."""
CONNECT_AGAIN_S = 0.2
MOST_TURNS = 100_000  # at one moment


class Member:
    """A node, as a process is: started, stopped, killed and frozen."""

    pid = None

    def __init__(self, cluster: InProcessCluster, node_id: int) -> None:
        self._cluster, self.node_id = cluster, node_id
        self.port, self.ready, self.failure = next(cluster.ports), False, ""
        self.peers = ("127.0.0.1", next(cluster.ports))  # other brokers have a listener of their own, as in networks
        self.loop: NodeLoop | None = None
        self.ends: set[End] = set()
        self._own = {} if node_id == CONTROLLER else {"advertised.listeners": "CLIENTS://{}:{}".format(*self.address)}
        self._chosen: Mapping[str, str] = {}

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    @property
    def runs(self) -> bool:
        return self.loop is not None and self.loop.runs

    def begin(self) -> None:
        """Starts it; `await_ready` says when it is there."""
        self.ready, self.failure = False, ""
        self.loop = NodeLoop(self._cluster, self)
        is_controller = self.node_id == CONTROLLER
        clock, data = LoopClock(self.loop), self._cluster.data / str(self.node_id)
        for log in data.rglob("*.log"):  # its files were written in the time of the machine
            os.utime(log, (clock.now_ms() / 1000,) * 2)
        config = BrokerConfig(
            data,
            node_id=self.node_id,
            port=self.port,
            settings={**self._cluster.settings, **self._own, **self._chosen},
            controller_only=is_controller,
            controller=None if is_controller else self._cluster.members[CONTROLLER].address,
            peers=None if is_controller else self.peers,
        )
        self._node = Node(config, clock, self._cluster.rng)
        self.loop.create_task(self._node.start()).add_done_callback(self._started)

    launch = begin

    def _started(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (error := task.exception()) is not None:
            self.failure = "it was ended" if task.cancelled() else repr(error)
            return
        self.ready = True

    def await_ready(self) -> None:
        self._cluster.run_until(lambda: self.ready or self.failure, READY_S)
        if not self.ready:
            raise RuntimeError(f"node {self.node_id} was not ready: {self.failure or 'in time'}")

    def restart(self) -> None:
        if self.loop is None or self.loop.dead:
            self.begin()
            self.await_ready()

    def choose(self, settings: Mapping[str, str]) -> None:
        """From its next start on."""
        self._chosen = settings

    def kill(self) -> None:
        """What it had not written is gone."""
        if self.loop is None or self.loop.dead:
            return
        for partition in self._node.replicas:
            partition.close(clean=False)
        self._node.journal.close()
        self.vanish()

    def terminate(self) -> None:
        stopping = self.loop.create_task(self._node.stop())
        self._cluster.run_until(stopping.done, STOP_S)
        if not stopping.done():
            raise RuntimeError(f"node {self.node_id} did not stop")
        stopping.result()
        self.vanish()

    def vanish(self) -> None:
        """Nothing of it runs any more, and its connections are gone."""
        loop, self.loop.dead, self.ready = self.loop, True, False
        for end in self.ends:
            end.closed = True
            end.pass_on(end.other.other_is_gone)
        self._cluster.left_behind.append((loop, [end.protocol for end in self.ends]))
        self.ends.clear()

    def pause(self) -> None:
        self.loop.frozen = True

    def resume(self) -> None:
        self.loop.frozen = False

    def cut_off(self, service: Service = "any", others: Sequence[int] = ()) -> None:
        parted = others or [node for node in self._cluster.members if node != self.node_id]
        self._cluster.cuts.begin(self.node_id, service, parted)

    def rejoin(self) -> None:
        if not self._cluster.cuts.end(self.node_id):
            raise UnmetCut(f"nothing met the cut of node {self.node_id}")

    def accepts(self, end: End) -> bool:
        """Whether it takes a connection."""
        if self.loop is None or self.loop.dead or not any(one.serving for one in self.loop.servers):
            return False
        mine = End(self.loop, self._node.listener.connection())
        mine.joined(end)
        self.ends.add(mine)
        self.loop.call_soon(mine.protocol.connection_made, mine)
        return True


class InProcessCluster:
    """An Exchanger, and the nodes behind it."""

    def __init__(self, data: Path, **settings: str) -> None:
        self.data = data
        told = (one.removeprefix("--set=").partition("=") for one in replicated(NODES))
        self.settings = {key: value for key, _, value in told} | settings
        self.rng, self.ports = Random(7), itertools.count(20_001)
        self.now_s, self._ns, self._together = 0.0, 0, False
        self.tape: list[TranscriptEntry] = []
        self.left_behind: list[tuple[NodeLoop, list[Any]]] = []
        self.cuts = Cuts()
        self._lines: dict[str, End] = {}
        self._real = (asyncio.open_connection, os._exit)
        asyncio.open_connection, os._exit = self._open_connection, self._exit
        self.members = {node: Member(self, node) for node in (CONTROLLER, *node_ids(NODES))}
        self.brokers = {node: one for node, one in self.members.items() if node != CONTROLLER}

    def start(self) -> None:
        self.members[CONTROLLER].restart()
        for member in self.brokers.values():
            member.begin()
        for member in self.brokers.values():
            member.await_ready()

    # time

    def run_until(self, condition: Callable[[], Any], within_s: float) -> None:
        """Lets the nodes run until it is so, or the time is up."""
        end_s, turns = self.now_s + within_s, 0
        while not condition() and self.now_s < end_s:
            if self._turns():
                turns += 1
                if turns > MOST_TURNS:
                    raise RuntimeError(f"{turns} turns, and no time has passed: nodes ask and answer without end")
            else:
                dues = (one.loop.due_s for one in self.members.values() if one.runs)
                self.now_s, turns = max(self.now_s, min([end_s, *dues])), 0

    def _turns(self) -> bool:
        """Each node that has something to do has a turn; whether there was any."""
        due = [one for one in self.members.values() if one.runs and one.loop.due_s <= self.now_s]
        for member in due:
            if member.runs:
                member.loop.turn()
        return bool(due)

    def _exit(self, status: int) -> None:
        raise Ended

    def _member_at(self, port: int) -> Member | None:
        return next((one for one in self.members.values() if port in (one.port, one.peers[1])), None)

    async def _open_connection(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        end, member = End(loop, protocol), self._member_at(port)
        await asyncio.sleep(0)
        while member is not None and self.cuts.part(loop.member.node_id, member.node_id):
            await asyncio.sleep(CONNECT_AGAIN_S)
        if member is None or not member.accepts(end):
            raise ConnectionRefusedError("nobody listens there")
        loop.member.ends.add(end)
        protocol.connection_made(end)
        return reader, asyncio.StreamWriter(end, protocol, reader, loop)

    # the Exchanger

    def open(self, connection: str, node: int, address: tuple[str, int], timeout_s: float) -> None:
        end, member = End(None), self._member_at(address[1])
        if member is None or not member.accepts(end):
            raise ConnectRefused("nobody listens there")
        self._lines[connection] = end

    def send(self, connection: str, frame: bytes, api: str = "", version: int = -1) -> int:
        end = self._lines[connection]
        if not end.lost:
            end.write(frame)
        for _ in range(0 if self._together else 4):
            self._turns()
        return self._later()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What leaves inside arrives before any node has another turn."""
        self._together = True
        try:
            yield
        finally:
            self._together = False

    def receive(self, connection: str, timeout_s: float, api: str = "", version: int = -1) -> tuple[bytes, int]:
        end = self._lines[connection]
        self.run_until(lambda: _size(end) >= 0 or end.lost, timeout_s)
        if (size := _size(end)) >= 0:
            frame = bytes(end.data[4 : 4 + size])
            del end.data[: 4 + size]
            return frame, self._later()
        raise ClosedByPeer("the broker closed the connection") if end.lost else ReadTimeout

    def close(self, connection: str) -> None:
        if (end := self._lines.pop(connection, None)) is not None:
            end.close()
            self._turns()

    def clock(self) -> tuple[int, int]:
        return self._later(), NOW_MS + round(self.now_s * 1000)

    def pause(self, seconds: float) -> None:
        self.run_until(lambda: False, seconds)

    def act(self, what: str, do: Callable[[], str]) -> str:
        return do()

    def observe(self, path: str, look: Callable[[], str]) -> str:
        return look()

    def _later(self) -> int:
        self.now_s += A_REQUEST_S
        self._ns = max(self._ns + 1, int(self.now_s * 1e9))
        return self._ns

    def lives(self) -> bool:
        return not any(one.failure for one in self.members.values())

    def end(self) -> None:
        """Closes everything, and lets what was left behind by the dead come to its end."""
        for member in self.members.values():
            member.kill()
        for loop, protocols in self.left_behind:
            bury(loop, protocols)
        asyncio.open_connection, os._exit = self._real


def tried_in_cluster(
    case: Case,
    data: Path,
    bug: str = "",
    seed: int = 0,
    look: Look | None = None,
    until_at_most_s: float | None = None,
) -> Outcome:
    """One attempt at a wire case against three nodes with one bug, or none; with the closing look where it is given."""
    if bug:
        bugs.plant(bug)
    cluster = InProcessCluster(data)
    try:
        context = CaseContext(
            prefix="bt-x",
            case=case.id,
            latency_ms=0.1,
            time_ms=NOW_MS,
            seed=seed,
            capabilities=("started",),  # one that ends has died: nobody else can have stopped it
            closing_look=look is not None,
            names_alike=True,
        )
        cluster.start()
        wire = Wire(cluster, context, [one.address for one in cluster.brokers.values()])
        wire.until_at_most_s = until_at_most_s
        controller = cluster.members[CONTROLLER]
        return attempt(case, wire, cluster, cluster.brokers, cluster.lives, None, look, controllers=[controller])
    finally:
        cluster.end()
        bugs.clear()


def _size(end: End) -> int:
    """Of the frame that is there as a whole; -1: none is."""
    size = int.from_bytes(end.data[:4], "big") if len(end.data) >= 4 else -1
    return size if size >= 0 and len(end.data) >= 4 + size else -1
