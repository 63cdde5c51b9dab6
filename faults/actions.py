"""What a fault decides about one message. Values only: the proxy carries them out."""

from dataclasses import dataclass
from typing import Literal

from brokertrial.wire.messages import Struct

End = Literal["close", "silence"]


@dataclass(frozen=True, slots=True)
class Forward:
    """Let it pass as it is."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Swallow it; then close the connection, or stay silent on it until the client gives up."""

    then: End = "close"


@dataclass(frozen=True, slots=True)
class Delay:
    """Pass it this much later; what follows on the connection waits behind it, as bytes in a slow network would."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stall:
    """Keep it, and all that follows in this direction of the connection, until the window ends; lost if the connection
    ends first."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep a request until the window ends and deliver it then, even if the client has long given up and gone."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Send a request twice; the client hears the first answer or the second one."""

    heard: Literal["first", "second"] = "first"


@dataclass(frozen=True, slots=True)
class Replace:
    """Pass this message in its stead."""

    message: Struct


@dataclass(frozen=True, slots=True)
class Respond:
    """Answer a request with this; the broker never sees it."""

    message: Struct


@dataclass(frozen=True, slots=True)
class Reset:
    """Abort the connection (the client sees a reset, not an orderly end)."""


Action = Forward | Drop | Delay | Stall | Hold | Duplicate | Replace | Respond | Reset
FORWARD = Forward()
