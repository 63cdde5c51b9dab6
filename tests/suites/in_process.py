"""The bundled broker in this process, on virtual time, on the other side of an Exchanger: wire cases in milliseconds.

The broker is the real one from the bytes on; what is left out are the socket, the process and the waiting. A crash
drops the node as kill -9 does, a stop ends it in good order; both read their folder again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random
from typing import Any

from brokertrial.checkers.verdict import Verdict
from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.broker.node import Node
from brokertrial.reference_impl.clock import ManualClock, Timer
from brokertrial.reference_impl.net.server import ClientConnection
from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.suites.case import Case
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.exchanger import ClosedByPeer, ReadTimeout, TranscriptEntry
from brokertrial.suites.probe.run_case import Look, attempt
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import Outcome

NODE = 1
STEP_S = 0.05
ON_ITS_WAY_S = 0.001
"""How long each request takes to arrive: what is done twice is done at two times."""
SPINS = 3
MUCH_UNREAD, PIECE = 1 << 20, 1 << 18
"""Bytes: what the buffers of a connection hold; what an event loop reads at once."""
STOPS_WITHIN_S = 10.0
"""In earnest: a node that waits for something else than the time of here never ends."""
NOW_MS = 1_700_000_000_123
UNTIL_AT_MOST_S = 30.0
"""What a case waits for comes within seconds where nothing else takes time, or not at all: a planted bug is seen as
surely as after a minute, at half the cost. The healthy broker has no more time."""
FEW_LOGS = {"offsets.topic.num.partitions": "5", "transaction.state.log.num.partitions": "5"}
"""Instead of 50 each: to make and to read them again takes a third of the time of a short case."""


class Pipe(asyncio.Transport):
    """What the broker writes to a connection, until the case reads it, and what it has not read yet; it hears when
    either is much."""

    def __init__(self, line: ClientConnection, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.data = bytearray()
        self.closed = False
        self._line, self._full = line, False
        self._loop, self._sent, self._held = loop, bytearray(), False

    def write(self, data: Any) -> None:
        self.data += data
        if len(self.data) > MUCH_UNREAD and not self._full:
            self._full = True
            self._line.pause_writing()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def take(self, count: int) -> bytes:
        """What comes first, which the case has read now."""
        taken = bytes(self.data[:count])
        del self.data[:count]
        return taken

    def drained(self) -> None:
        """Little is left that the case has not read: the broker may go on."""
        if self._full and len(self.data) <= MUCH_UNREAD:
            self._full = False
            self._line.resume_writing()

    def get_write_buffer_size(self) -> int:
        return len(self.data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    abort = close

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default

    def arrive(self, data: bytes) -> None:
        """In pieces, as an event loop reads them: the broker may want no more of them for a while."""
        self._sent += data
        self._pass_on()

    def _pass_on(self) -> None:
        while self._sent and not self._held and not self.closed:
            piece = bytes(self._sent[:PIECE])
            del self._sent[:PIECE]
            self._line.data_received(piece)

    def pause_reading(self) -> None:
        self._held = True

    def resume_reading(self) -> None:
        self._held = False
        self._loop.call_soon(self._pass_on)


class Timers(ManualClock):
    """A clock whose timers end as an event loop's do: what one of them raises is kept, and the others go on."""

    def __init__(self, now_ms: int, raised: list[BaseException]) -> None:
        super().__init__(now_ms)
        self._raised = raised

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Timer:
        def kept() -> None:
            try:
                action()
            except Exception as error:  # noqa: BLE001 - as an event loop does; the test looks at what was raised
                self._raised.append(error)

        return super().call_later(delay_s, kept)


class InProcess:
    """An Exchanger, and the one Victim behind it."""

    def __init__(self, data: Path, **settings: str) -> None:
        self._data, self._settings = data, {**FEW_LOGS, **settings}
        self._chosen: Mapping[str, str] = {}
        self.raised: list[BaseException] = []
        """What no request met: a task of the background or a callback ended by it."""
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._kept)
        self._past_s = 0.0
        self.ended_when_asked = True
        self._rng = Random(7)  # one for all lives: what is drawn after a restart is new
        self._ns = 0
        self._together: list[tuple[str, bytes]] | None = None
        self.tape: list[TranscriptEntry] = []
        self._lines: dict[str, tuple[ClientConnection, Pipe]] = {}
        self._begin(NOW_MS)

    def _begin(self, now_ms: int) -> None:
        self._now = Timers(now_ms, self.raised)
        for log in self._data.rglob("*.log"):  # its files were written in the time of the machine
            os.utime(log, (now_ms / 1000, now_ms / 1000))
        config = BrokerConfig(self._data, node_id=NODE, settings={**self._settings, **self._chosen})
        self._node = Node(config, self._now, self._rng)
        self._run(self._node.start)

    # the Exchanger

    def open(self, connection: str, node: int, address: tuple[str, int], timeout_s: float) -> None:
        line = self._node.listener.connection()
        pipe = Pipe(line, self._loop)
        self._run(lambda: line.connection_made(pipe))
        self._lines[connection] = line, pipe

    def send(self, connection: str, frame: bytes, api: str = "", version: int = -1) -> int:
        if self._together is not None:
            self._together.append((connection, frame))
            return self._later()
        self.pause(ON_ITS_WAY_S)
        self._run(lambda: self._arrives(connection, frame))
        return self._later()

    def _arrives(self, connection: str, frame: bytes) -> None:
        _, pipe = self._lines[connection]
        if not pipe.closed:
            pipe.arrive(frame)

    def together(self) -> AbstractContextManager[None]:
        """What leaves inside arrives in one turn of the loop: at its end, or as soon as an answer is awaited."""
        return self._at_one_time()

    @contextmanager
    def _at_one_time(self) -> Iterator[None]:
        self._together = []
        try:
            yield
        finally:
            self._all_arrive()
            self._together = None

    def _all_arrive(self) -> None:
        if held := self._together:
            self._together = []
            self._run(lambda: [self._arrives(*each) for each in held])

    def receive(self, connection: str, timeout_s: float, api: str = "", version: int = -1) -> tuple[bytes, int]:
        self._all_arrive()
        pipe, passed_s = self._lines[connection][1], 0.0
        while (frame := _frame(pipe)) is None:
            if pipe.closed:
                raise ClosedByPeer("the broker closed the connection")
            if passed_s > timeout_s:
                raise ReadTimeout
            self.pause(STEP_S)
            passed_s += STEP_S
        self._run(pipe.drained)
        return frame, self._later()

    def close(self, connection: str) -> None:
        if (line := self._lines.pop(connection, None)) is not None:
            self._run(lambda: line[0].connection_lost(None))

    def clock(self) -> tuple[int, int]:
        return self._later(), self._now.now_ms()

    def pause(self, seconds: float) -> None:
        self._run(lambda: self._now.advance(seconds))

    def act(self, what: str, do: Callable[[], str]) -> str:
        return do()

    def observe(self, path: str, look: Callable[[], str]) -> str:
        return look()

    # the Victim

    node_id, pid = NODE, os.getpid()

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self._node.port

    def kill(self) -> None:
        """The process is gone, and what it had not written with it; nothing of it runs any more."""
        self._run(self._node.listener.close)
        for topic in self._node.topics.all():
            for index in range(topic.partitions):
                if (partition := self._node.partition(topic.name, index)) is not None:
                    partition.close(clean=False)
        self._node.journal.close()

    def terminate(self) -> None:
        self.ended_when_asked = True
        self._run(self._stopped)

    async def _stopped(self) -> None:
        try:
            await asyncio.wait_for(self._node.stop(), STOPS_WITHIN_S)
        except TimeoutError:
            self.ended_when_asked = False

    def restart(self) -> None:
        self._past_s += self._now.monotonic()
        self._begin(self._now.now_ms())

    def choose(self, settings: Mapping[str, str]) -> None:
        self._chosen = dict(settings)

    def end(self) -> None:
        """Closes everything."""
        self.kill()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.wait(left))
        self._loop.close()

    def _later(self) -> int:
        self._ns = max(self._ns + 1, int((self._past_s + self._now.monotonic()) * 1e9))
        return self._ns

    def _run(self, act: Callable[[], Any]) -> None:
        """Does something on the loop, and lets everything happen that it sets off."""

        async def done() -> None:
            found = act()
            if asyncio.iscoroutine(found):
                await found
            for _ in range(SPINS):
                await asyncio.sleep(0)
            self._now.advance(0)
            await asyncio.sleep(0)

        try:
            self._loop.run_until_complete(done())
        except Exception as error:
            self.raised.append(error)
            raise

    def _kept(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if isinstance(error := context.get("exception"), Exception):
            self.raised.append(error)


class OnlyNode:
    """The broker of an InProcess as one that may be disturbed: it ends and begins again, and is never frozen."""

    node_id = NODE

    def __init__(self, world: InProcess) -> None:
        self._world, self._runs = world, True

    @property
    def address(self) -> tuple[str, int]:
        return self._world.address

    @property
    def pid(self) -> int | None:
        return self._world.pid

    @property
    def ended_when_asked(self) -> bool:
        return self._world.ended_when_asked

    def kill(self) -> None:
        self._world.kill()
        self._runs = False

    def terminate(self) -> None:
        self._world.terminate()
        self._runs = False

    def pause(self) -> None:
        raise NotImplementedError("it would freeze this process")

    def resume(self) -> None:
        """It is never frozen."""

    def restart(self) -> None:
        self._world.restart()
        self._runs = True

    def alive(self) -> bool:
        return self._runs

    def paused(self) -> bool:
        return False

    def choose(self, settings: Mapping[str, str]) -> None:
        self._world.choose(settings)


def tried(
    case: Case,
    data: Path,
    bug: str = "",
    look: Look | None = None,
    until_at_most_s: float | None = None,
    **settings: str,
) -> Outcome:
    """One attempt at a wire case against the broker with one bug, or none."""
    if bug:
        bugs.plant(bug)
    world = InProcess(data, **settings)
    try:
        looks = look is not None
        case_context = CaseContext(
            prefix="bt-x", case=case.id, latency_ms=0.1, time_ms=NOW_MS, closing_look=looks, names_alike=True
        )
        wire = Wire(world, case_context, [world.address])
        wire.until_at_most_s = until_at_most_s
        outcome = attempt(case, wire, world, {NODE: OnlyNode(world)}, lambda: True, None, look)
        if world.raised and not bug:
            raise world.raised[0]  # a healthy broker has no such line in its log
        return outcome
    finally:
        world.end()
        bugs.clear()


def told(outcome: Outcome) -> str:
    """Verdict, reason and sentence, for a message."""
    reason = f" {outcome.reason.kind}: {outcome.reason.sentence}" if outcome.reason else ""
    return f"{Verdict(outcome.verdict)}{reason}"


def _frame(pipe: Pipe) -> bytes | None:
    size = int.from_bytes(pipe.data[:4], "big") if len(pipe.data) >= 4 else -1
    if size < 0 or len(pipe.data) < 4 + size:
        return None
    return pipe.take(4 + size)[4:]
