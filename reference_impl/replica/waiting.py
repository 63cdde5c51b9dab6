"""Waiting until something is replicated: what acks=all, and every answer of a coordinator, is about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable
from typing import NamedTuple

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.clock import Clock
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.wire import errors


class LogPosition(NamedTuple):
    """A place in a partition's log, as its leader wrote it; a new epoch of the same leader changes nothing."""

    partition: Partition
    end_offset: int
    led_since: int

    def state(self) -> int | None:
        """0 once all below is replicated, an error once that can no more be known, None while it is open."""
        partition = self.partition
        over = partition.leading is None or partition.led_since != self.led_since
        if partition.deleted or (over and not bugs.on("B14")):
            return errors.NONE if partition.deleted and bugs.on("B171") else errors.NOT_LEADER_OR_FOLLOWER
        if partition.leading is None or (partition.high_watermark < self.end_offset and not bugs.on("M34b")):
            return None
        return errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND if partition.under_min_isr else errors.NONE


class Trimmed(NamedTuple):
    """A start that a partition's log shall have on every living replica."""

    partition: Partition
    start_offset: int
    led_since: int
    alive: Callable[[], Container[int]]

    @property
    def low_watermark(self) -> int:
        """Where the log begins on every living replica now."""
        return self.partition.low_watermark(() if bugs.on("Z12") else self.alive())

    def state(self) -> int | None:
        """0 once no living replica holds anything below, an error once that can no more be known."""
        partition = self.partition
        over = partition.leading is None or partition.led_since != self.led_since
        if partition.deleted or (over and not bugs.on("B106")):
            return errors.NOT_LEADER_OR_FOLLOWER
        return errors.NONE if self.low_watermark >= self.start_offset else None


def mark(partition: Partition, end_offset: int | None = None) -> LogPosition:
    """The log's end now, or the place given."""
    return LogPosition(partition, partition.log.end_offset if end_offset is None else end_offset, partition.led_since)


async def settled(marks: Iterable[LogPosition | Trimmed], clock: Clock, limit_s: float) -> list[int]:
    """The state of each, when none is open any more; REQUEST_TIMED_OUT for what still is when the time is up."""
    waited = list(marks)
    news, timed_out = asyncio.Event(), False

    def time_is_up() -> None:
        nonlocal timed_out
        timed_out = True
        news.set()

    timer = clock.call_later(limit_s, time_is_up)
    for one in waited:
        one.partition.watch(news.set)
    try:
        while True:
            states = [one.state() for one in waited]
            hasty = any(states) and bugs.on("B30")
            if timed_out or None not in states or hasty:
                late = errors.NONE if bugs.on("B09") or hasty else errors.REQUEST_TIMED_OUT
                every = timed_out and bugs.on("D94")
                if errors.NOT_LEADER_OR_FOLLOWER in states and bugs.on("B172"):
                    return [errors.NOT_LEADER_OR_FOLLOWER for _ in states]
                return [late if every or state is None else state for state in states]
            await news.wait()
            news.clear()
    finally:
        timer.cancel()
        for one in waited:
            one.partition.unwatch(news.set)
