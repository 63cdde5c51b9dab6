"""One client connection and the connection to the broker that belongs to it: frames go through here, in order."""

import asyncio
import struct
from collections import deque
from collections.abc import Coroutine
from functools import partial
from typing import Any, Protocol

from brokertrial.faults.channel import Setup
from brokertrial.faults.client_aliases import ClientAliases
from brokertrial.faults.proxy.active_faults import ActiveFault
from brokertrial.faults.proxy.address_rewriting import API_VERSIONS, versions_refused
from brokertrial.faults.proxy.delivery_plan import DeliveryPlan
from brokertrial.faults.proxy.exchange import ProxiedExchange
from brokertrial.faults.proxy.framing import Frames, NotAKafkaFrame
from brokertrial.faults.proxy.interceptor import Interceptor
from brokertrial.faults.proxy.node_listeners import NodeListener
from brokertrial.faults.proxy.outbox import Outbox
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
    def hold(self, window: ActiveFault, node: int, frame: bytes, message: ProxiedExchange) -> None: ...


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
        self._pending: deque[ProxiedExchange] = deque()
        self._client_id_bytes: bytes | None = None
        self._opaque = False
        self._requests_blackholed_by: Any = None
        self._responses_blackholed_by: Any = None
        self._client_closed = False
        self._is_over = False
        self._copies = 0
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
                self._owner.hold(waiting.gate, self.node, waiting.data or b"", waiting.about)
                if waiting.about in self._pending:
                    self._pending.remove(waiting.about)
                self._interceptor.settle(waiting.about)
        self.up.keep_timed_only()
        self.up.push(None)
        if self.sockets.upstream is None:
            self._forget()

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

    def _bars_answers(self, window: Any) -> bool:
        direction = getattr(window.fault, "direction", "")
        return direction != "requests" and not window.test.keys and window.test.header(self.client_id, self.node, -1)

    def _forget(self) -> None:
        for message in self._pending:
            self._interceptor.unanswered(message)
        self._pending.clear()
        self._is_over = True
        self._owner.left(self)

    def window_ended(self, window: Any) -> None:
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
        api = _APIS.get(key)
        readable = api is not None and api.min_version <= version <= api.max_version
        message = ProxiedExchange(
            api, key, version, correlation, self.client_id, self.node, self.number, frame, now_ns(), readable=readable
        )
        if not readable:
            self._unreadable(message)
        elif key == PRODUCE and self._active_faults.quiet:
            self._forward_produce_first(message)
        elif key == PRODUCE or self._interceptor.concerns(key, version):
            message.intercepted = True
            self._intercept_request(message)
        else:
            message.frame = None
            self._pending.append(message)
            self.up.push(frame)

    def _unreadable(self, message: ProxiedExchange) -> None:
        if message.key == API_VERSIONS and message.api_of is not None and message.version > message.api_of.max_version:
            message.answered = message.local_answer(versions_refused(), version=0)
            self._pending.append(message)
            self._flush()
            return
        self._outbox.event_once(
            "unknown-api", (message.key, message.version), {"api": message.key, "version": message.version}
        )
        assert message.frame is not None
        self._pending.append(message)
        self.up.push(message.frame)

    def _forward_produce_first(self, message: ProxiedExchange) -> None:
        """While no window is open a Produce leaves first and is looked at behind: still before its answer can come."""
        assert message.frame is not None
        message.intercepted = True
        self._pending.append(message)
        self.up.push(message.frame, about=message)
        self._loop.call_soon(self._inspect_forwarded, message)

    def _inspect_forwarded(self, message: ProxiedExchange) -> None:
        unanswered = self._interceptor.saw_produce(message)
        self._interceptor.let_go_of_frame(message)
        if self._is_over:  # closed meanwhile: its pending requests were told of without their batches
            self._interceptor.unanswered(message)
        elif unanswered:
            self._pending.remove(message)
            self._flush()

    def _intercept_request(self, message: ProxiedExchange) -> None:
        answered = not (message.key == PRODUCE and self._interceptor.saw_produce(message))
        plan = self._interceptor.on_request(message)
        self._carry_out(message, plan, answered)

    def _carry_out(self, message: ProxiedExchange, plan: DeliveryPlan, answered: bool) -> None:
        if plan.reset:
            self.sockets.abort()
        elif plan.drop is not None:
            self._requests_blackholed_by = plan.dropped_by
            if plan.drop.then == "close":
                message.final = True
                self._pending.append(message)
                self._flush()
        elif plan.answer is not None:
            message.answered = message.local_answer(plan.answer)
            message.delay = plan.delay
            self._interceptor.settle(message)
            if answered:
                self._pending.append(message)
                self._flush()
        else:
            self._forward(message, plan, answered)

    def _forward(self, message: ProxiedExchange, plan: DeliveryPlan, answered: bool) -> None:
        if plan.replace is not None:
            message.replace_request(plan.replace)
        assert message.frame is not None
        frame = message.frame
        if answered:
            self._pending.append(message)
        else:
            self._interceptor.settle(message)
        self.up.push(frame, plan.delay, plan.gate, plan.held, message)
        if plan.duplicate is not None:
            copy = self._copy_of(message)
            message.withhold_response = plan.duplicate.heard == "second"
            copy.withhold_response = not message.withhold_response
            if answered:
                self._pending.append(copy)
            assert copy.frame is not None
            self.up.push(copy.frame, plan.delay, plan.gate, plan.held, copy)
        self._interceptor.let_go_of_frame(message)

    def _copy_of(self, message: ProxiedExchange) -> ProxiedExchange:
        """The same request under a correlation id that no client uses."""
        self._copies += 1
        copy = message.copied(-(1 << 30) - self._copies, now_ns())
        if message.batches:
            self._interceptor.saw_produce(copy)
        return copy

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
        pending = self._pending
        message = pending[0] if pending and pending[0].correlation_id == correlation else self._find(correlation)
        if message is None:
            self._outbox.event(
                "unknown-correlation", node=self.node, client=self.client_id, fields={"correlation_id": correlation}
            )
            self.down.push(frame)
            return
        if message.intercepted or self._active_faults.gates:
            self._careful_answer(message, frame)
        else:
            message.answered = frame
        if message is pending[0]:
            self._flush()
        elif message.answered is not None and self._out_of_order(message):
            pending.remove(message)
            self._send(message)

    def _find(self, correlation: int) -> ProxiedExchange | None:
        return next((m for m in self._pending if m.correlation_id == correlation and m.answered is None), None)

    def _out_of_order(self, message: ProxiedExchange) -> bool:
        """Whether the broker answered a later request before an earlier one; that is its doing, and passes on as it
        came."""
        for earlier in self._pending:
            if earlier is message:
                return False
            if earlier.answered is None and not earlier.final:
                break
        if not self._disorder_reported:
            self._disorder_reported = True
            fields = {
                "api": message.api,
                "correlation_id": message.correlation_id,
                "expected": self._pending[0].correlation_id,
            }
            self._outbox.event("answer-out-of-order", node=self.node, client=self.client_id, fields=fields)
        return True

    def _careful_answer(self, message: ProxiedExchange, frame: bytes) -> None:
        message.answer_frame = frame
        message.is_response = True
        plan = self._interceptor.on_response(message)
        self._finish(message, plan)

    def _finish(self, message: ProxiedExchange, plan: DeliveryPlan) -> None:
        """What the client will be sent, and when."""
        message.delay, message.gate = message.delay + plan.delay, plan.gate
        if plan.reset:
            self.sockets.abort()
        elif plan.drop is not None and plan.drop.then == "close":
            message.final = True
        elif plan.drop is not None:
            self._responses_blackholed_by = plan.dropped_by
        if plan.replace is not None:
            message.replace_answer(plan.replace)
        message.answered = self._interceptor.answer_bytes(message)
        if message.client_correlation_id is not None:
            message.answered = (
                message.answered[:4] + CORRELATION.pack(message.client_correlation_id) + message.answered[8:]
            )

    def _flush(self) -> None:
        """Sends the answers whose turn it is."""
        pending = self._pending
        while pending and (pending[0].answered is not None or pending[0].final):
            self._send(pending.popleft())

    def _send(self, message: ProxiedExchange) -> None:
        if message.withhold_response or self._responses_blackholed_by is not None:
            return
        if message.final:
            self.down.push(None)
        else:
            self.down.push(message.answered, message.delay, message.gate)

    # --- telling

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
