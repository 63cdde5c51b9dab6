"""What shall become of a message: the observer looks at it, the active faults decide, and their decisions are combined
into effects."""

import random
from dataclasses import dataclass

import msgspec

from brokertrial.faults.actions import FORWARD, Action, Forward, Replace
from brokertrial.faults.proxy import effects
from brokertrial.faults.proxy.active_faults import ActiveFault, ActiveFaults, Draws
from brokertrial.faults.proxy.effects import CloseInTurn, Decided, LinkEffect, SendRequest, SendResponse
from brokertrial.faults.proxy.exchange import ProxiedRequest, ProxiedResponse, UndecodableMessage
from brokertrial.faults.proxy.follow_up import NOTHING, FollowUp, Hit, PickedBy
from brokertrial.faults.proxy.hits import Hits
from brokertrial.faults.proxy.observer import PRODUCE, Observer
from brokertrial.faults.proxy.outbox import Outbox
from brokertrial.faults.seeded_random import seeded_random
from brokertrial.histories.clock import now_ns
from brokertrial.wire.messages import Struct

FIRST_COPY = -(1 << 30)
"""Correlation ids from here downwards are used by no client."""


@dataclass(frozen=True, slots=True)
class MessageUnderFault:
    """What one fault is shown of a message (a `faults.kind.Message`)."""

    on_the_way: ProxiedRequest
    on_the_way_back: ProxiedResponse | None
    draws: Draws

    @property
    def is_response(self) -> bool:
        return self.on_the_way_back is not None

    @property
    def api(self) -> str:
        return self.on_the_way.api

    @property
    def version(self) -> int:
        return self.on_the_way.version

    @property
    def request(self) -> Struct:
        return self.on_the_way.body

    @property
    def answer(self) -> Struct:
        if self.on_the_way_back is None:
            raise UndecodableMessage(f"{self.api} is not answered yet")
        return self.on_the_way_back.decoded()

    @property
    def random(self) -> random.Random:
        seed, what = self.draws
        return seeded_random(seed, *what)


class Interceptor:
    """Decides for all links; it knows of no socket, and sends no byte to either end."""

    def __init__(self, active_faults: ActiveFaults, observer: Observer, outbox: Outbox) -> None:
        self.active_faults = active_faults
        self._observer = observer
        self._outbox = outbox
        self._hits = Hits(outbox)
        self._copies = 0

    def concerns(self, key: int, version: int) -> bool:
        """Whether a request of this API and version must be looked at, or the response to it."""
        return key == PRODUCE or self._observer.wants(key, version) or self.active_faults.concerns(key)

    def observe(self, request: ProxiedRequest) -> FollowUp:
        """Takes in a request that no fault disturbs."""
        if request.key != PRODUCE:
            return NOTHING
        batches, acknowledged = self._observer.saw_produce(request)
        return FollowUp(batches=batches, acknowledged=acknowledged)

    def needs_frame(self, request: ProxiedRequest, follow_up: FollowUp) -> bool:
        """Whether the look at the response needs the bytes of the request, which was sent."""
        wanted = follow_up.picked_by or follow_up.batches
        return bool(wanted) or self._observer.wants(request.key, request.version)

    def on_request(self, request: ProxiedRequest) -> tuple[LinkEffect, ...]:
        """What becomes of a request."""
        seen = self.observe(request)
        if self.active_faults.quiet:
            return (SendRequest(request, seen),)
        decided: list[Decided] = []
        picked_by: list[PickedBy] = []
        hits: list[Hit] = []
        for picked in (self.active_faults.picked(request), self.active_faults.gating(request)):
            for fault, draws in picked:
                action = self._decide(fault, MessageUnderFault(request, None, draws))
                decided.append((fault, action))
                if not isinstance(action, Forward):
                    hits += self._hits.count(fault, action)
                if not fault.fault.in_flight:
                    picked_by.append(PickedBy(fault, draws, not isinstance(action, Forward)))
                if isinstance(action, Replace):
                    request = request.replaced(action.message)
        follow_up = FollowUp(tuple(picked_by), tuple(hits), seen.batches, seen.acknowledged)
        done = effects.of_request(request, follow_up, decided, lambda: self._copy_of(request, seen))
        if any(isinstance(effect, SendRequest) for effect in done) and follow_up.acknowledged:
            return done
        self.settle(request, follow_up)
        return tuple(_settled(effect) for effect in done)

    def on_response(self, response: ProxiedResponse, follow_up: FollowUp) -> tuple[LinkEffect, ...]:
        """What becomes of a response: the faults that picked the request decide, and those that bar its way."""
        request = response.request
        passed = self._observer.saw_response(response, follow_up.batches)
        if not follow_up.picked_by and not follow_up.hits and not self.active_faults.gates:
            return (SendResponse(passed.frame),)
        hits = list(follow_up.hits)
        decided: list[Decided] = []
        for by in follow_up.picked_by:
            action = FORWARD if by.fault.ended else self._decide(by.fault, MessageUnderFault(request, passed, by.draws))
            passed = self._take(by.fault, action, passed, decided, hits)
            if isinstance(action, Forward) and not by.hit:
                by.fault.missed()
        for fault, draws in self.active_faults.gating(request):
            action = self._decide(fault, MessageUnderFault(request, passed, draws))
            passed = self._take(fault, action, passed, decided, hits)
        self._hits.report(hits, request, follow_up.batches, response)
        return effects.of_response(passed.frame, decided)

    def settle(self, request: ProxiedRequest, follow_up: FollowUp) -> None:
        """Nothing more can become known of the request: its hits are reported."""
        self._hits.report(follow_up.hits, request, follow_up.batches)

    def unanswered(self, request: ProxiedRequest, follow_up: FollowUp) -> None:
        """The connection ended before this request was answered."""
        if follow_up.acknowledged:
            self._observer.unanswered(request, follow_up.batches)
        self.settle(request, follow_up)

    def _take(
        self, fault: ActiveFault, action: Action, response: ProxiedResponse, decided: list[Decided], hits: list[Hit]
    ) -> ProxiedResponse:
        """Notes a decision about a response; the response as it passes on."""
        if isinstance(action, Forward):
            return response
        decided.append((fault, action))
        hits += self._hits.count(fault, action)
        if not isinstance(action, Replace):
            return response
        try:
            return response.replaced(action.message)
        except ValueError:  # an edit that cannot be encoded: the bytes pass as they were
            self._outbox.own_error(node=response.request.node)
            return response

    def _copy_of(self, request: ProxiedRequest, seen: FollowUp) -> ProxiedRequest:
        """The same request under a correlation id that no client uses."""
        self._copies += 1
        copy = request.copied(FIRST_COPY - self._copies, now_ns())
        if not seen.acknowledged:
            self._observer.unanswered(copy, seen.batches)
        return copy

    def _decide(self, fault: ActiveFault, message: MessageUnderFault) -> Action:
        """Asks a fault; a message that it cannot read passes, and so does one on which it fails (reported as our own
        error)."""
        try:
            return fault.fault.decide(message)
        except UndecodableMessage:
            return FORWARD
        except Exception:  # noqa: BLE001 - a bug in a fault must not look like one of the broker
            self._outbox.own_error(window=fault.window.id)
            return FORWARD


def _settled(effect: LinkEffect) -> LinkEffect:
    """The same, without hits: they are reported."""
    if not isinstance(effect, SendRequest | CloseInTurn):
        return effect
    return msgspec.structs.replace(effect, follow_up=msgspec.structs.replace(effect.follow_up, hits=()))
