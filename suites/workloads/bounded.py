"""A call of the client library that may never return (librdkafka issue 5456) is waited for, but not for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 15.0
"""Beyond the time that the call itself was given: then the library hangs, whatever the broker does."""


class Hung(Exception):
    """The library did not come back. What was asked for may still happen."""


def bounded(call: Callable[[], T], within_s: float) -> T:
    """The result of a call, in a thread of its own; raises Hung when it has none in time. The thread is given up."""
    result: list[T] = []
    error: list[BaseException] = []

    def run() -> None:
        try:
            result.append(call())
        except BaseException as problem:  # noqa: BLE001 - handed to the caller
            error.append(problem)

    thread = threading.Thread(target=run, name="library-call", daemon=True)
    thread.start()
    thread.join(within_s)
    if error:
        raise error[0]
    if not result:
        raise Hung(f"the client library did not return within {within_s:g} s")
    return result[0]
