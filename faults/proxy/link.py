"""One client connection and the connection to the broker that belongs to it: frames go through here, in order."""

import asyncio
import struct
from collections.abc import Coroutine
from functools import partial
from typing import Any, Protocol

from brokertrial.faults.channel import Setup
from brokertrial.faults.client_aliases import ClientAliases
from brokertrial.faults.proxy.active_faults import ActiveFault
from brokertrial.faults.proxy.address_rewriting import API_VERSIONS, versions_refused
from brokertrial.faults.proxy.effects import (
    AbortConnection,
    BlackHole,
    CloseInTurn,
    LinkEffect,
    SendRequest,
    SendResponse,
)
from brokertrial.faults.proxy.exchange import ProxiedRequest, ProxiedResponse, with_correlation_id
from brokertrial.faults.proxy.follow_up import NOTHING, SentBatch
from brokertrial.faults.proxy.framing import Frames, NotAKafkaFrame
from brokertrial.faults.proxy.interceptor import Interceptor
from brokertrial.faults.proxy.node_listeners import NodeListener
from brokertrial.faults.proxy.outbox import Outbox
from brokertrial.faults.proxy.pending_responses import PendingResponse, PendingResponses
from brokertrial.faults.proxy.send_queue import SendQueue
from brokertrial.faults.proxy.sockets import LinkSocket, Sockets
from brokertrial.histories.clock import now_ns
from brokertrial.wire import apis

PRODUCE = 0
HEAD = struct.Struct(">hhih")
CORRELATION = struct.Struct(">i")
SHORTEST_HEADER = 14
_APIS = {api.key: api for api in apis.ALL}


class LinkOwner(Protocol):
    """What a link asks of the proxy that accepted it."""

    setup: Setup
    aliases: ClientAliases

    def joined(self, link: "Link") -> None: ...
    def left(self, link: "Link") -> None: ...
    def count(self, node: int, client: str) -> None: ...
    def run(self, work: Coroutine[Any, Any, None]) -> None: ...
    def hold(
        self, window: ActiveFault, frame: bytes, request: ProxiedRequest, batches: tuple[SentBatch, ...]
    ) -> None: ...


class Link:
    """Requests and answers of one client connection. The answers leave in the order of the requests, as Kafka's
    clients demand."""

    def __init__(
        self, owner: LinkOwner, interceptor: Interceptor, outbox: Outbox, node_listener: NodeListener, number: int
    ) -> None:
        self.number = number
        self.client_id = ""
        self._owner = owner
        self._interceptor = interceptor
        self._active_faults = interceptor.active_faults
        self._outbox = outbox
        self._listener = node_listener
        self._loop = asyncio.get_running_loop()
        self.sockets = Sockets()
        limit = owner.setup.frame_limit
        self._requests = Frames(limit, 0)
        self._answers = Frames(limit, 4)
        self._pending = PendingResponses()
        self._client_id_bytes: bytes | None = None
        self._opaque = False
        self._requests_blackholed_by: ActiveFault | None = None
        self._responses_blackholed_by: ActiveFault | None = None
        self._client_closed = False
        self._is_over = False
        self._disorder_reported = False
        ends, queue = self.sockets, owner.setup.queue_limit
        self.up = SendQueue(ends.write_upstream, ends.close_upstream, partial(ends.press, "lane", True), queue)
        self.down = SendQueue(ends.write_client, ends.close_client, partial(ends.press, "lane", False), queue)

    @property
    def node(self) -> int:
        return self._listener.node

    # --- life

    def client_made(self, transport: asyncio.Transport) -> None:
        self.sockets.set_client(transport)
        self._owner.joined(self)
        self._owner.run(self._connect())

    async def _connect(self) -> None:
        host, port = self._listener.upstream
        try:
            async with asyncio.timeout(self._owner.setup.connect_timeout_s):
                await asyncio.get_running_loop().create_connection(lambda: LinkSocket(self, False), host, port)
        except OSError as problem:  # TimeoutError is one
            why = "no answer" if isinstance(problem, TimeoutError) else problem.strerror or str(problem)
            self._outbox.event("upstream-down", node=self.node, fields={"address": f"{host}:{port}", "why": why})
            self.sockets.abort()

    def upstream_made(self, transport: asyncio.Transport) -> None:
        self.sockets.set_upstream(transport)
        if self._client_closed:
            transport.close()

    def client_gone(self) -> None:
        """The client is gone: what it sent still goes out; what a window holds for it is parked, the rest is lost."""
        if self._client_closed:
            return
        self._client_closed = True
        self.down.end()
        if rest := self._requests.rest():
            self.up.push(rest)
        for waiting in self.up.waiting():
            if waiting.held and waiting.gate is not None and not waiting.gate.ended:
                self._hand_over(waiting.gate, waiting.data or b"", waiting.about)
        self.up.keep_timed_only()
        self.up.push(None)
        if self.sockets.upstream is None:
            self._forget()

    def _hand_over(self, gate: ActiveFault, frame: bytes, sent: PendingResponse) -> None:
        """A request that outlives its connection."""
        follow_up = sent.follow_up or NOTHING
        self._owner.hold(gate, frame, sent.request, follow_up.batches)
        self._pending.remove(sent)
        self._interceptor.settle(sent.request, follow_up)

    def upstream_gone(self) -> None:
        """The broker closed: the client hears what is under way, then the end; a client that is cut off does not hear
        that either."""
        self.up.end()
        self.sockets.upstream = None
        if self._client_closed:
            self._forget()
            return
        gate = next((w for w in self._active_faults.gates if self._bars_answers(w)), None)
        self.down.push(None, gate=gate)

    def _bars_answers(self, window: ActiveFault) -> bool:
        test = window.test
        return window.fault.bars_answers() and not test.keys and test.header(self.client_id, self.node, -1)

    def _forget(self) -> None:
        for pending in self._pending.clear():
            if pending.follow_up is not None:
                self._interceptor.unanswered(pending.request, pending.follow_up)
        self._is_over = True
        self._owner.left(self)

    def window_ended(self, window: ActiveFault) -> None:
        """Lets go what the window kept; a connection that lost messages to it is of no use and closes."""
        if window in (self._requests_blackholed_by, self._responses_blackholed_by):
            self.down.push(None)
        self.up.kick()
        self.down.kick()

    # --- requests

    def from_client(self, data: bytes) -> None:
        if self._opaque:
            self.up.push(data)
            return
        foreign = False
        try:
            frames = self._requests.feed(data)
        except NotAKafkaFrame as problem:
            self._foreign(problem, "the client")
            frames, foreign = problem.frames, True
        with self.up.together:
            for frame in frames:
                if self._requests_blackholed_by is None:
                    self._request(frame)
        if foreign:
            self.up.push(self._requests.rest())

    def _request(self, frame: bytes) -> None:
        if len(frame) < SHORTEST_HEADER:
            self.up.push(frame)
            return
        key, version, correlation, _ = HEAD.unpack_from(frame, 4)
        self._read_client_id(frame)
        self._owner.count(self.node, self.client_id)
        concerns = self._interceptor.concerns(key, version)
        kept, now = frame if concerns else None, now_ns()
        request = ProxiedRequest(
            _APIS.get(key), key, version, correlation, self.client_id, self.node, self.number, now, kept
        )
        if not request.supported:
            self._unsupported(request, frame)
        elif not concerns:
            self._pending.append(PendingResponse(request))
            self.up.push(frame)
        elif self._active_faults.quiet:
            self._forward_quietly(request, frame)
        else:
            for effect in self._interceptor.on_request(request):
                self._do_to_request(effect, request)

    def _unsupported(self, request: ProxiedRequest, frame: bytes) -> None:
        schema = request.schema
        if request.key == API_VERSIONS and schema is not None and request.version > schema.max_version:
            refused = request.local_response(versions_refused(), version=0)
            self._pending.append(PendingResponse(request, received=True, frame=refused))
            self._flush()
            return
        what = (request.key, request.version)
        self._outbox.event_once("unknown-api", what, {"api": request.key, "version": request.version})
        self._pending.append(PendingResponse(request))
        self.up.push(frame)

    def _forward_quietly(self, request: ProxiedRequest, frame: bytes) -> None:
        """While no fault is active a request leaves first, and a Produce is looked at behind: still before its answer
        can come."""
        pending = PendingResponse(request, NOTHING)
        self._pending.append(pending)
        self.up.push(frame, about=pending)
        if request.key == PRODUCE:
            self._loop.call_soon(self._inspect_forwarded, pending)

    def _inspect_forwarded(self, pending: PendingResponse) -> None:
        request = pending.request
        pending.follow_up = follow_up = self._interceptor.observe(request)
        if not self._interceptor.needs_frame(request, follow_up):
            pending.request = request.without_frame()
        if self._is_over:  # closed meanwhile: its pending requests were reported without their batches
            self._interceptor.unanswered(request, follow_up)
        elif not follow_up.acknowledged:
            self._pending.remove(pending)
            self._flush()

    def _do_to_request(self, effect: LinkEffect, request: ProxiedRequest) -> None:
        match effect:
            case SendRequest():
                self._forward(effect)
            case SendResponse(frame, delivery):
                self._pending.append(PendingResponse(request, received=True, frame=frame, delivery=delivery))
                self._flush()
            case BlackHole(by):
                self._requests_blackholed_by = by
            case CloseInTurn(follow_up):
                self._pending.append(PendingResponse(request, follow_up, closes=True))
                self._flush()
            case AbortConnection():
                self.sockets.abort()

    def _forward(self, effect: SendRequest) -> None:
        request, follow_up, delivery = effect.request, effect.follow_up, effect.delivery
        frame = request.frame
        assert frame is not None, "only a request of which bytes are there is sent"
        if not self._interceptor.needs_frame(request, follow_up):
            request = request.without_frame()
        pending = PendingResponse(request, follow_up, effect.heard, effect.heard_as)
        if follow_up.acknowledged:
            self._pending.append(pending)
        self.up.push(frame, delivery.delay, delivery.gate, delivery.held, pending)

    # --- answers

    def from_upstream(self, data: bytes) -> None:
        if self._opaque:
            self.down.push(data)
            return
        foreign = False
        try:
            frames = self._answers.feed(data)
        except NotAKafkaFrame as problem:
            self._foreign(problem, f"node {self.node} at {self._listener.upstream[0]}:{self._listener.upstream[1]}")
            frames, foreign = problem.frames, True
        with self.down.together:
            for frame in frames:
                self._answer(frame)
        if foreign:
            self.down.push(self._answers.rest())

    def _answer(self, frame: bytes) -> None:
        (correlation,) = CORRELATION.unpack_from(frame, 4)
        pending = self._pending.find(correlation)
        if pending is None:
            self._outbox.event(
                "unknown-correlation", node=self.node, client=self.client_id, fields={"correlation_id": correlation}
            )
            self.down.push(frame)
            return
        pending.received = True
        if pending.follow_up is None and not self._active_faults.gates:
            pending.frame = frame
        else:
            self._intercept_response(pending, frame)
        expected = self._pending.awaited_before(pending)
        if expected is None:
            self._flush()
        elif pending.frame is not None:
            self._report_disorder(pending.request, expected.request)
            self._pending.remove(pending)
            self._send(pending)

    def _report_disorder(self, answered: ProxiedRequest, expected: ProxiedRequest) -> None:
        """The broker answered a later request before an earlier one; that is its doing, and passes on as it came."""
        if not self._disorder_reported:
            self._disorder_reported = True
            fields = {
                "api": answered.api,
                "correlation_id": answered.correlation_id,
                "expected": expected.correlation_id,
            }
            self._outbox.event("answer-out-of-order", node=self.node, client=self.client_id, fields=fields)

    def _intercept_response(self, pending: PendingResponse, frame: bytes) -> None:
        follow_up, pending.follow_up = pending.follow_up or NOTHING, None
        for effect in self._interceptor.on_response(ProxiedResponse(pending.request, frame), follow_up):
            match effect:
                case SendResponse(changed, delivery):
                    pending.frame, pending.delivery = changed, delivery
                case BlackHole(by):
                    self._responses_blackholed_by = by
                case CloseInTurn():
                    pending.closes = True
                case AbortConnection():
                    self.sockets.abort()

    def _flush(self) -> None:
        """Sends the answers whose turn it is."""
        while (pending := self._pending.next_due()) is not None:
            self._send(pending)

    def _send(self, pending: PendingResponse) -> None:
        if not pending.heard or self._responses_blackholed_by is not None:
            return
        frame = pending.frame
        if pending.closes or frame is None:
            self.down.push(None)
            return
        if pending.heard_as is not None:
            frame = with_correlation_id(frame, pending.heard_as)
        self.down.push(frame, pending.delivery.delay, pending.delivery.gate)

    # --- reporting

    def _read_client_id(self, frame: bytes) -> None:
        length = HEAD.unpack_from(frame, 4)[3]
        raw = frame[14 : 14 + max(length, 0)]
        if raw != self._client_id_bytes:
            self._client_id_bytes = raw
            self.client_id = self._owner.aliases.show(raw.decode("utf-8", "replace"))

    def _foreign(self, problem: NotAKafkaFrame, who: str) -> None:
        """No Kafka: say so, and from here on pass bytes as they are: both ends see what they would have seen."""
        self._opaque = True
        self._outbox.event(
            problem.kind, node=self.node, client=self.client_id, fields={"who": who, "what": f"From {who}: {problem}"}
        )
