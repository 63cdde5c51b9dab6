"""Responses that a client still waits for, in the order of its requests, in which Kafka's clients demand them."""

from collections import deque
from collections.abc import Iterator

import msgspec

from brokertrial.faults.proxy.effects import AT_ONCE, Delivery
from brokertrial.faults.proxy.exchange import ProxiedRequest
from brokertrial.faults.proxy.follow_up import FollowUp


class PendingResponse(msgspec.Struct, eq=False):
    """The place of one response in that order; what is known of it changes, by its link alone."""

    request: ProxiedRequest
    follow_up: FollowUp | None = None
    """What the interceptor is handed with the response; None: nobody looks at it."""
    heard: bool = True
    heard_as: int | None = None
    """The correlation id under which the client hears it, where it is another one."""
    received: bool = False
    frame: bytes | None = None
    """What the client will be sent, once known."""
    delivery: Delivery = AT_ONCE
    closes: bool = False
    """The connection ends here."""


class PendingResponses:
    """A queue of them. While all come in order, only its head is looked at."""

    def __init__(self) -> None:
        self._queue: deque[PendingResponse] = deque()
        self.append = self._queue.append

    def find(self, correlation_id: int) -> PendingResponse | None:
        """The one that a response with this correlation id is for."""
        queue = self._queue
        if queue and queue[0].request.correlation_id == correlation_id:
            return queue[0]
        return next((p for p in queue if p.request.correlation_id == correlation_id and not p.received), None)

    def next_due(self) -> PendingResponse | None:
        """Takes out the head, if it is known what the client will be sent in its place."""
        queue = self._queue
        if queue and (queue[0].frame is not None or queue[0].closes):
            return queue.popleft()
        return None

    def awaited_before(self, pending: PendingResponse) -> PendingResponse | None:
        """The head, where an earlier response than this one has not come yet."""
        for earlier in self._queue:
            if earlier is pending:
                return None
            if not earlier.received and not earlier.closes:
                return self._queue[0]
        return None

    def remove(self, pending: PendingResponse) -> None:
        """Takes out one whose turn does not matter any more; harmless when it is gone."""
        if pending in self._queue:
            self._queue.remove(pending)

    def clear(self) -> Iterator[PendingResponse]:
        """Takes out all."""
        while self._queue:
            yield self._queue.popleft()
