"""What must be known of a request when its response comes, or when it is clear that none will."""

from typing import Any

import msgspec

from brokertrial.faults.proxy.active_faults import ActiveFault, Draws


class SentBatch(msgspec.Struct, frozen=True):
    """One batch of a Produce request: all that its row needs but the answer."""

    topic: str
    partition: int
    header: Any

    def identity(self) -> dict[str, object]:
        """What names it on the wire: a checker tells the broker's duplicates from the client's by it."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "producer_id": self.header.producer_id,
            "producer_epoch": self.header.producer_epoch,
            "base_sequence": self.header.base_sequence,
        }


class PickedBy(msgspec.Struct, frozen=True):
    """A fault that picked the request and may still disturb the response; `hit`: it disturbed the request."""

    fault: ActiveFault
    draws: Draws
    hit: bool


class Hit(msgspec.Struct, frozen=True):
    """One effect of a fault on a message: the `number`-th of this fault."""

    fault: ActiveFault
    at_ns: int
    decision: str
    number: int


class FollowUp(msgspec.Struct, frozen=True):
    """What the interceptor wants to have back together with the response."""

    picked_by: tuple[PickedBy, ...] = ()
    hits: tuple[Hit, ...] = ()
    """They are reported together with the broker's own error code."""
    batches: tuple[SentBatch, ...] = ()
    acknowledged: bool = True
    """Whether the broker will respond at all (not to a Produce with acks=0)."""


NOTHING = FollowUp()
