"""One client call, from its invocation to its rows in the history."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from confluent_kafka import KafkaException

from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import Operation, PartitionId


class RecordedCall:
    """A call under way. What its response shows is set on `row`, or on a row for each partition that it was about."""

    __slots__ = ("row", "rows")

    def __init__(self, row: Operation) -> None:
        self.row = row
        self.rows: list[Operation] = []

    def on(self, place: PartitionId, **found: Any) -> Operation:
        """A row of this call for one partition."""
        row = msgspec.structs.replace(self.row, topic=place[0], partition=place[1], **found)
        self.rows.append(row)
        return row

    def unknown(self, error: int | None = None) -> None:
        """Whether it had an effect is not known; `error` is the library's code: only Kafka's own are kept."""
        for row in self.rows or [self.row]:
            row.outcome, row.error = "info", kafka_code(error)

    def returned(self) -> None:
        """It returned now, not when the block ends."""
        for row in self.rows or [self.row]:
            row.return_ns = row.return_ns or now_ns()


@contextlib.contextmanager
def recorded(call: RecordedCall, add: Callable[[Operation], None]) -> Iterator[RecordedCall]:
    """Adds the rows of a call as the block ends: ok unless it says otherwise, unknown when it raises.

    What the client library raises is an outcome and goes no further.
    """
    try:
        yield call
    except KafkaException as problem:
        call.unknown(problem.args[0].code())
    except BaseException:
        call.unknown()
        raise
    finally:
        call.returned()
        for row in call.rows or [call.row]:
            add(row)


def kafka_code(code: int | None) -> int | None:
    """A code that a broker sent; None for those that the library makes itself, which are negative."""
    return code if code is not None and code > 0 else None
