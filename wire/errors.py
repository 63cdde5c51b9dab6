"""Kafka's error codes as plain ints: `errors.NOT_COORDINATOR`, `errors.name(code)`, `errors.retriable(code)`.

A broker may send any number; one that Kafka does not know has a name too, `UNKNOWN(9999)`.
"""

from brokertrial.wire import error_codes
from brokertrial.wire.error_codes import *  # noqa: F403  (the codes are this module's names)
from brokertrial.wire.error_codes import RETRIABLE_CODES

CODES: dict[str, int] = {key: code for key, code in vars(error_codes).items() if isinstance(code, int)}
_NAMES = {code: key for key, code in CODES.items()}


def name(code: int) -> str:
    return _NAMES.get(code) or f"UNKNOWN({code})"


def retriable(code: int) -> bool:
    """Whether Kafka's clients repeat a request that was answered so; an unknown code is not."""
    return code in RETRIABLE_CODES
