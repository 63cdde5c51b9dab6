"""The proxy as a whole: its links, listeners, windows and what it has seen."""

import asyncio
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from faults.actions import FORWARD, Action
from faults.aliases import Aliases
from faults.channel import Setup, Tell
from faults.match import resolve
from faults.proxy.board import Board, OpenWindow
from faults.proxy.facts import SeenFacts
from faults.proxy.hits import Hits
from faults.proxy.lag import LagMeter
from faults.proxy.link import Link
from faults.proxy.nodes import Door, Nodes
from faults.proxy.observer import Observer
from faults.proxy.outbox import Outbox
from faults.proxy.parking import Parking
from faults.proxy.passing import Passing, Unreadable
from faults.proxy.sockets import Side
from faults.schedule import Window
from faults.triggers import Trigger


class House:
    """Everything that links share. All of it runs on one event loop."""

    def __init__(self, setup: Setup, send: Callable[[Tell], None]) -> None:
        self.setup = setup
        self.aliases = Aliases(*setup.aliases)
        self.outbox = Outbox(send)
        self.facts = SeenFacts(setup.leaderless)
        self.board = Board(self.facts, setup.seed, lambda window: self.outbox.edge(window, "hit"))
        self.nodes = Nodes(setup, self._accept, self._new_door)
        self.links: set[Link] = set()
        self.parking = Parking(self)
        self.hits = Hits(self.outbox)
        self.observer = Observer(self)
        self.lag = LagMeter()
        self.requests: Counter[tuple[int, str]] = Counter()
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._told: set[object] = set()

    def open(self) -> None:
        """Binds what is known and starts the lag meter."""
        self.nodes.open()
        self.lag.start()

    async def close(self) -> None:
        """Ends every connection and listener."""
        self.lag.stop()
        for window in list(self.board.open):
            self.end(window)
        for link in list(self.links):
            link.sockets.abort()
        await self.nodes.close()
        for task in self._tasks:
            task.cancel()
        self.outbox.flush()

    # --- windows

    def begin(self, window: Window) -> None:
        """Opens a window now."""
        self.board.begin(window)
        self.outbox.edge(window.id, "begin")
        if window.match is not None and window.end.msg is not None:
            self.board.watch(window.id, window.end.msg, window.end.n, lambda: self.end(window.id))

    def arm(self, window: Window) -> None:
        """Opens a window at the message that its begin names, so that it can hit that very message."""
        assert window.begin.msg is not None, "armed only when it begins at a message"
        self.board.watch(window.id, window.begin.msg, window.begin.n, lambda: self.begin(window))

    def end(self, window_id: str) -> bool:
        """Ends a window and lets go everything that it kept; whether it was open."""
        window = self.board.end(window_id)
        if window is None:
            return False
        for link in list(self.links):
            link.window_ended(window)
        self.parking.window_ended(window)
        self.outbox.edge(window_id, "end")
        return True

    def watch(self, window_id: str, text: str) -> None:
        """Tells the harness, in its own words, when a message condition (a Trigger as JSON) comes true."""
        condition = msgspec.json.decode(text, type=Trigger)
        assert condition.msg is not None, "only conditions on messages are waited for here"
        self.board.watch(window_id, condition.msg, condition.n, lambda: self.outbox.reached(window_id, text))

    def decide(self, window: OpenWindow, message: Passing) -> Action:
        """Asks a fault; a message that it cannot read passes, and so does one on which it fails (told as our own
        error)."""
        try:
            return window.fault.decide(message)
        except Unreadable:
            return FORWARD
        except Exception:  # noqa: BLE001 - a bug in a fault must not look like one of the broker
            self.tell("proxy-error", window=window.window.id, fields={"traceback": traceback.format_exc()})
            return FORWARD

    def answer_bytes(self, message: Passing) -> bytes:
        """The frame for the client; an edit that cannot be encoded is our own error, and the broker's bytes pass."""
        try:
            return message.answer_bytes()
        except ValueError:
            self.tell("proxy-error", node=message.node, fields={"traceback": traceback.format_exc()})
            assert message.answer_frame is not None
            return message.answer_frame

    def park(self, window: OpenWindow, node: int, frame: bytes, message: Passing) -> None:
        """Keeps a held request whose client is gone."""
        self.parking.park(window, node, frame, message)

    # --- telling

    def tell(self, kind: str, *, fields: dict[str, Any] | None = None, **columns: Any) -> None:
        """An event of the history."""
        self.outbox.event(kind, fields=fields, **columns)

    def tell_once(self, kind: str, what: object, fields: dict[str, Any]) -> None:
        """The same, but not again for the same thing."""
        if (kind, what) not in self._told:
            self._told.add((kind, what))
            self.tell(kind, fields=fields)

    def tell_leader(self, topic: str, partition: int, leader: int, epoch: int) -> None:
        """A leader that is news."""
        self.tell("leader", node=leader, topic=topic, partition=partition, leader_epoch=epoch if epoch >= 0 else None)

    def tell_lasting(self) -> None:
        """What group members own at the end of a case."""
        self.observer.memberships.tell_lasting()

    def count(self, node: int, client: str) -> None:
        """One request seen; the leak detector compares."""
        self.requests[node, client] += 1

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs something beside; it ends with the proxy at the latest."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def resolve(self, selector: str) -> tuple[int, ...] | None:
        """The nodes that a selector names now."""
        return resolve(selector, self.facts)

    def state(self) -> dict[str, Any]:
        """What is at work and what is kept back: empty when everything is healed."""
        return {
            "open": sorted(self.board.open),
            "waiting": sum(1 for link in self.links for lane in (link.up, link.down) if _gated(lane)),
            "parked": len(self.parking),
            "connections": len(self.links),
            "nodes": self.nodes.map(),
        }

    def _accept(self, door: Door) -> asyncio.Protocol:
        self.connections += 1
        return Side(Link(self, door, self.connections), True)

    def _new_door(self, door: Door) -> None:
        host, port = door.upstream
        self.tell("proxy-node", node=door.node, fields={"port": door.port, "upstream": f"{host}:{port}"})


def _gated(lane: Any) -> bool:
    return any(waiting.gate is not None for waiting in lane.waiting())
