"""What shall become of a message: the observer looks at it, the open windows are asked, and their decisions folded."""

import traceback

from brokertrial.faults.actions import FORWARD, Action, Drop
from brokertrial.faults.proxy.active_faults import ActiveFault, ActiveFaults
from brokertrial.faults.proxy.delivery_plan import DeliveryPlan, decision, has_effect
from brokertrial.faults.proxy.exchange import ProxiedExchange, UndecodableMessage
from brokertrial.faults.proxy.hits import Hits
from brokertrial.faults.proxy.observer import Observer
from brokertrial.faults.proxy.outbox import Outbox


class Interceptor:
    """Decides for all links; it knows of no socket, and sends no byte to either end."""

    def __init__(self, active_faults: ActiveFaults, observer: Observer, outbox: Outbox) -> None:
        self.active_faults = active_faults
        self._observer = observer
        self._outbox = outbox
        self._hits = Hits(outbox)

    def concerns(self, key: int, version: int) -> bool:
        """Whether a request of this API and version must be looked at, or the response to it."""
        return self._observer.wants(key, version) or self.active_faults.concerns(key)

    def saw_produce(self, message: ProxiedExchange) -> bool:
        """Takes in a Produce request; whether nobody will answer it (acks=0)."""
        return self._observer.saw_produce(message)

    def let_go_of_frame(self, message: ProxiedExchange) -> None:
        """Forgets the bytes of a request that was sent, unless the look at its response needs them."""
        if not message.windows and not message.batches and not self._observer.wants(message.key, message.version):
            message.frame = None

    def on_request(self, message: ProxiedExchange) -> DeliveryPlan:
        """What the open windows do to a request."""
        plan = DeliveryPlan()
        if self.active_faults.quiet:
            return plan
        for windows in (self.active_faults.picked(message), self.active_faults.gating(message)):
            for window in windows:
                action = self._decide(window, message)
                if has_effect(action):
                    self._hits.record(window, message, decision(action), later=not isinstance(action, Drop))
                if not window.fault.in_flight:
                    message.windows.append((window, message.draws))
                plan.take(window, action)
        return plan

    def on_response(self, message: ProxiedExchange) -> DeliveryPlan:
        """What the windows that picked the request do to its response, and those that bar its way."""
        self._observer.saw_answer(message)
        plan = DeliveryPlan()
        for window, draws in message.windows:
            message.draws = draws
            action = self._decide(window, message) if not window.ended else None
            if action is not None and has_effect(action):
                self._hits.record(window, message, decision(action), later=True)
                plan.take(window, action)
            elif window.window.id not in message.hit_by:
                window.missed()
        for window in self.active_faults.gating(message):
            action = self._decide(window, message)
            if has_effect(action):
                self._hits.record(window, message, decision(action), later=True)
            plan.take(window, action)
        self._hits.settle(message)
        return plan

    def settle(self, message: ProxiedExchange) -> None:
        """Nothing more can happen to it: its hits are told."""
        self._hits.settle(message)

    def unanswered(self, message: ProxiedExchange) -> None:
        """The connection ended before this request was answered."""
        self._observer.unanswered(message)
        self._hits.settle(message)

    def answer_bytes(self, message: ProxiedExchange) -> bytes:
        """The frame for the client; an edit that cannot be encoded is our own error, and the broker's bytes pass."""
        try:
            return message.answer_bytes()
        except ValueError:
            self._outbox.event("proxy-error", node=message.node, fields={"traceback": traceback.format_exc()})
            assert message.answer_frame is not None
            return message.answer_frame

    def _decide(self, window: ActiveFault, message: ProxiedExchange) -> Action:
        """Asks a fault; a message that it cannot read passes, and so does one on which it fails (told as our own
        error)."""
        try:
            return window.fault.decide(message)
        except UndecodableMessage:
            return FORWARD
        except Exception:  # noqa: BLE001 - a bug in a fault must not look like one of the broker
            self._outbox.event("proxy-error", window=window.window.id, fields={"traceback": traceback.format_exc()})
            return FORWARD
