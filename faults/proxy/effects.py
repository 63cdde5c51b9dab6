"""What shall be done about a message: the decisions of all faults, combined into effects that a link carries out."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from brokertrial.faults.actions import Action, Delay, Drop, Duplicate, Hold, Reset, Respond, Stall
from brokertrial.faults.proxy.active_faults import ActiveFault
from brokertrial.faults.proxy.exchange import ProxiedRequest
from brokertrial.faults.proxy.follow_up import NOTHING, FollowUp

Decided = tuple[ActiveFault, Action]


class Delivery(msgspec.Struct, frozen=True):
    """When something leaves: after `delay` seconds, not before the fault `gate` has ended; `held`: then even without
    its connection."""

    delay: float = 0.0
    gate: ActiveFault | None = None
    held: bool = False


AT_ONCE = Delivery()


class SendRequest(msgspec.Struct, frozen=True):
    """The broker is sent this request; the client is sent the response to it if `heard`, under the correlation id
    `heard_as` where that is another one."""

    request: ProxiedRequest
    follow_up: FollowUp = NOTHING
    delivery: Delivery = AT_ONCE
    heard: bool = True
    heard_as: int | None = None


class SendResponse(msgspec.Struct, frozen=True):
    """The client is sent this frame when its turn has come."""

    frame: bytes
    delivery: Delivery = AT_ONCE


class CloseInTurn(msgspec.Struct, frozen=True):
    """The connection ends in the place of the response."""

    follow_up: FollowUp = NOTHING


class AbortConnection(msgspec.Struct, frozen=True):
    """The connection is reset now."""


class BlackHole(msgspec.Struct, frozen=True):
    """From now on nothing passes in the direction of this message, until the fault ends."""

    by: ActiveFault


LinkEffect = SendRequest | SendResponse | CloseInTurn | AbortConnection | BlackHole
Kind = TypeVar("Kind", bound=Action)


def of_request(
    request: ProxiedRequest, follow_up: FollowUp, decided: Sequence[Decided], copy: Callable[[], ProxiedRequest]
) -> tuple[LinkEffect, ...]:
    """What becomes of a request; `copy` makes the second one for a fault that sends it twice."""
    if _last(decided, Reset):
        return (AbortConnection(),)
    if dropped := _last(decided, Drop):
        fault, drop = dropped
        return (BlackHole(fault), CloseInTurn(follow_up)) if drop.then == "close" else (BlackHole(fault),)
    delivery = _delivery(decided)
    if answered := _last(decided, Respond):
        frame = request.local_response(answered[1].message)
        return (SendResponse(frame, Delivery(delivery.delay)),) if follow_up.acknowledged else ()
    if not (doubled := _last(decided, Duplicate)):
        return (SendRequest(request, follow_up, delivery),)
    first = doubled[1].heard == "first"
    batches_alone = FollowUp(batches=follow_up.batches, acknowledged=follow_up.acknowledged)
    return (
        SendRequest(request, follow_up, delivery, heard=first),
        SendRequest(copy(), batches_alone, delivery, heard=not first, heard_as=request.correlation_id),
    )


def of_response(frame: bytes, decided: Sequence[Decided]) -> tuple[LinkEffect, ...]:
    """What becomes of a response; `frame`: its bytes, with all replacements made."""
    if _last(decided, Reset):
        return (AbortConnection(),)
    if dropped := _last(decided, Drop):
        fault, drop = dropped
        return (CloseInTurn(),) if drop.then == "close" else (BlackHole(fault),)
    return (SendResponse(frame, _delivery(decided)),)


def _delivery(decided: Sequence[Decided]) -> Delivery:
    """Delays add up; of several gates the last hold counts, else the first one."""
    delay, gate, held = 0.0, None, False
    for fault, action in decided:
        match action:
            case Delay(seconds):
                delay += seconds
            case Stall():
                gate = gate or fault
            case Hold():
                gate, held = fault, True
    return Delivery(delay, gate, held) if delay or gate is not None else AT_ONCE


def _last(decided: Sequence[Decided], kind: type[Kind]) -> tuple[ActiveFault, Kind] | None:
    """The last decision of a kind: of several, it counts."""
    return next(((fault, action) for fault, action in reversed(decided) if isinstance(action, kind)), None)
