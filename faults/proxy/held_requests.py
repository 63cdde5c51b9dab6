"""Requests that a window holds although their client is gone; they are delivered when it ends."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from brokertrial.faults.channel import Setup
from brokertrial.faults.proxy.active_faults import ActiveFault
from brokertrial.faults.proxy.exchange import ProxiedRequest, ProxiedResponse
from brokertrial.faults.proxy.follow_up import SentBatch
from brokertrial.faults.proxy.framing import Frames
from brokertrial.faults.proxy.hits import broker_code
from brokertrial.faults.proxy.node_listeners import NodeListeners
from brokertrial.faults.proxy.observer import Observer
from brokertrial.faults.proxy.outbox import Outbox

ANSWER_SECONDS = 10.0


@dataclass(slots=True)
class HeldRequest:
    """One request, and where it was going."""

    window: ActiveFault
    frame: bytes
    request: ProxiedRequest
    batches: tuple[SentBatch, ...]


class HeldRequests:
    """Bounded in bytes: what does not fit any more is lost, and that is told."""

    def __init__(
        self,
        setup: Setup,
        nodes: NodeListeners,
        observer: Observer,
        outbox: Outbox,
        run: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        """`run`: starts what goes on beside, and ends it with the proxy."""
        self._setup = setup
        self._nodes = nodes
        self._observer = observer
        self._outbox = outbox
        self._run = run
        self._parked: list[HeldRequest] = []
        self._under_way = 0

    def hold(self, window: ActiveFault, frame: bytes, request: ProxiedRequest, batches: tuple[SentBatch, ...]) -> None:
        """Keeps a request until its window ends; `frame`: its bytes as they are to be sent."""
        if sum(len(p.frame) for p in self._parked) + len(frame) > self._setup.park_limit:
            fields = {"bytes": len(frame)}
            self._outbox.event("held-overflow", window=window.window.id, node=request.node, fields=fields)
            return
        self._parked.append(HeldRequest(window, frame, request, batches))

    def window_ended(self, window: ActiveFault) -> None:
        """Delivers what this window held, each over a connection of its own."""
        due = [parked for parked in self._parked if parked.window is window]
        self._parked = [parked for parked in self._parked if parked.window is not window]
        for parked in due:
            self._under_way += 1
            self._run(self._deliver(parked))

    def __len__(self) -> int:
        return len(self._parked) + self._under_way

    async def _deliver(self, parked: HeldRequest) -> None:
        request = parked.request
        upstream = self._nodes.upstream(request.node)
        fields = {"api": request.api, "correlation_id": request.correlation_id, "connection": request.connection}
        try:
            if upstream is None:
                raise ConnectionRefusedError("the node is not known")
            async with asyncio.timeout(ANSWER_SECONDS):
                response = ProxiedResponse(request, await _exchange(upstream, parked.frame, self._setup.frame_limit))
            fields["code"] = str(broker_code(response))
            self._observer.saw_response(response, parked.batches)
        except OSError as problem:
            fields["why"] = str(problem) or "no answer"
        finally:
            self._under_way -= 1
        self._outbox.event(
            "delivered-late", window=parked.window.window.id, node=request.node, client=request.client, fields=fields
        )


async def _exchange(upstream: tuple[str, int], frame: bytes, limit: int) -> bytes:
    """Sends one request and reads one answer."""
    reader, writer = await asyncio.open_connection(*upstream)
    try:
        writer.write(frame)
        frames = Frames(limit, 4)
        while data := await reader.read(65536):
            if found := frames.feed(data):
                return found[0]
        raise ConnectionResetError("the node closed the connection instead of answering")
    finally:
        writer.close()
