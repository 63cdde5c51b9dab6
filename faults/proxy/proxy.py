"""The proxy as a whole: its links, listeners, windows and what it has seen."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from brokertrial.faults.channel import ControlReport, Setup
from brokertrial.faults.client_aliases import ClientAliases
from brokertrial.faults.match import resolve
from brokertrial.faults.proxy.active_faults import ActiveFault, ActiveFaults
from brokertrial.faults.proxy.exchange import ProxiedRequest
from brokertrial.faults.proxy.follow_up import SentBatch
from brokertrial.faults.proxy.held_requests import HeldRequests
from brokertrial.faults.proxy.interceptor import Interceptor
from brokertrial.faults.proxy.lag import LagMeter
from brokertrial.faults.proxy.link import Link
from brokertrial.faults.proxy.node_listeners import NodeListener, NodeListeners
from brokertrial.faults.proxy.observed_cluster import ObservedCluster
from brokertrial.faults.proxy.observer import Observer
from brokertrial.faults.proxy.outbox import Outbox
from brokertrial.faults.proxy.sockets import LinkSocket
from brokertrial.faults.schedule import Window
from brokertrial.faults.triggers import Trigger


class Proxy:
    """Everything that links share. All of it runs on one event loop."""

    def __init__(self, setup: Setup, send: Callable[[ControlReport], None]) -> None:
        self.setup = setup
        self.aliases = ClientAliases(*setup.aliases)
        self.outbox = Outbox(send)
        self.facts = ObservedCluster(setup.leaderless)
        self.active_faults = ActiveFaults(self.facts, setup.seed, lambda window: self.outbox.edge(window, "hit"))
        self.nodes = NodeListeners(setup, self._accept, self._listener_opened)
        self.links: set[Link] = set()
        self.observer = Observer(setup, self.facts, self.outbox, self.nodes.place)
        self.held_requests = HeldRequests(setup, self.nodes, self.observer, self.outbox, self.run)
        self.interceptor = Interceptor(self.active_faults, self.observer, self.outbox)
        self.lag = LagMeter()
        self.requests: Counter[tuple[int, str]] = Counter()
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Binds what is known and starts the lag meter."""
        self.nodes.open()
        self.lag.start()

    async def close(self) -> None:
        """Ends every connection and listener."""
        self.lag.stop()
        for window in list(self.active_faults.open):
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
        self.active_faults.begin(window)
        self.outbox.edge(window.id, "begin")
        if window.match is not None and window.end.msg is not None:
            self.active_faults.watch(window.id, window.end.msg, window.end.n, lambda: self.end(window.id))

    def arm(self, window: Window) -> None:
        """Opens a window at the message that its begin names, so that it can hit that very message."""
        assert window.begin.msg is not None, "armed only when it begins at a message"
        self.active_faults.watch(window.id, window.begin.msg, window.begin.n, lambda: self.begin(window))

    def end(self, window_id: str) -> bool:
        """Ends a window and lets go everything that it kept; whether it was open."""
        window = self.active_faults.end(window_id)
        if window is None:
            return False
        for link in list(self.links):
            link.window_ended(window)
        self.held_requests.window_ended(window)
        self.outbox.edge(window_id, "end")
        return True

    def watch(self, window_id: str, text: str) -> None:
        """Tells the harness, in its own words, when a message condition (a Trigger as JSON) comes true."""
        condition = msgspec.json.decode(text, type=Trigger)
        assert condition.msg is not None, "only conditions on messages are waited for here"
        self.active_faults.watch(window_id, condition.msg, condition.n, lambda: self.outbox.reached(window_id, text))

    # --- what links and held requests ask for

    def joined(self, link: Link) -> None:
        """A link has its client."""
        self.links.add(link)

    def left(self, link: Link) -> None:
        """Both ends of a link are gone."""
        self.links.discard(link)

    def hold(self, window: ActiveFault, frame: bytes, request: ProxiedRequest, batches: tuple[SentBatch, ...]) -> None:
        """Keeps a held request whose client is gone."""
        self.held_requests.hold(window, frame, request, batches)

    def count(self, node: int, client: str) -> None:
        """One request seen; the leak detector compares."""
        self.requests[node, client] += 1

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs something beside; it ends with the proxy at the latest."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- what the harness asks for

    def report_open_memberships(self) -> None:
        """What group members own at the end of a case."""
        self.observer.memberships.report_open_memberships()

    def resolve(self, selector: str) -> tuple[int, ...] | None:
        """The nodes that a selector names now."""
        return resolve(selector, self.facts)

    def state(self) -> dict[str, Any]:
        """What is at work and what is kept back: empty when everything is healed."""
        return {
            "open": sorted(self.active_faults.open),
            "waiting": sum(1 for link in self.links for lane in (link.up, link.down) if _gated(lane)),
            "parked": len(self.held_requests),
            "connections": len(self.links),
            "nodes": self.nodes.map(),
        }

    def _accept(self, node_listener: NodeListener) -> asyncio.Protocol:
        self.connections += 1
        return LinkSocket(Link(self, self.interceptor, self.outbox, node_listener, self.connections), True)

    def _listener_opened(self, node_listener: NodeListener) -> None:
        host, port = node_listener.upstream
        self.outbox.event(
            "proxy-node", node=node_listener.node, fields={"port": node_listener.port, "upstream": f"{host}:{port}"}
        )


def _gated(lane: Any) -> bool:
    return any(waiting.gate is not None for waiting in lane.waiting())
