"""The bundled broker with one bad habit: `python bad_broker.py HABIT node --data DIR --port N`.

Each habit is one root cause that once failed dozens of cases. `toml(folder, habit)` is a `file:` target of it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from brokertrial.reference_impl.__main__ import main  # noqa: E402
from brokertrial.reference_impl.broker import node  # noqa: E402
from brokertrial.reference_impl.net import server  # noqa: E402
from brokertrial.wire import errors  # noqa: E402
from brokertrial.wire.records import batches  # noqa: E402

Habit = Callable[[Any, Any], None]
SLOW = {"CreateTopics": 1.0, "Produce": 0.4}
RECORDS = 1_500
_state = {"poisoned": False, "records": 0}
_transports: list[Any] = []


def _batches_of(request: Any) -> list[Any]:
    return [
        one
        for topic in request.topic_data
        for part in topic.partition_data
        for one in batches(bytes(part.records or b""))
    ]


def _close(why: str) -> None:
    raise server.CloseConnection(why)


def closes_on_new_metadata(request: Any, context: Any) -> None:
    if request._api == "Metadata" and context.version > 8:
        _close("Metadata of a version that is offered")


def closes_on_no_timestamp(request: Any, context: Any) -> None:
    if request._api != "Produce":
        return
    if any(one.header.magic == 2 and one.header.base_timestamp < 0 for one in _batches_of(request)):
        _close("a batch without a timestamp")


def closes_on_no_wait(request: Any, context: Any) -> None:
    if request._api == "Fetch" and request.max_wait_ms == 0:
        _close("a fetch that does not wait")


def closes_on_broker_settings(request: Any, context: Any) -> None:
    if request._api == "DescribeConfigs" and any(row.resource_type == 4 for row in request.resources):
        _close("settings of a broker")


def poisoned_by_delete_records(request: Any, context: Any) -> None:
    """Every write fails from the first DeleteRecords on, until the process is started again."""
    _state["poisoned"] |= request._api == "DeleteRecords"
    if _state["poisoned"] and request._api == "Produce":
        _close("the lock is poisoned")


def loses_a_coordinator(request: Any, context: Any) -> None:
    """From the first DeleteRecords on, until the process is started again; see `_coordinates_nothing`."""
    _state["poisoned"] |= request._api == "DeleteRecords"


def cannot_write(request: Any, context: Any) -> None:
    """See `_refuse_to_write`."""


def lets_nobody_read(request: Any, context: Any) -> None:
    """See `_refuse_to_read`."""


def slow(request: Any, context: Any) -> None:
    """See `SLOW`."""


def nothing_bad(request: Any, context: Any) -> None:
    """The bundled broker as it is."""


def panics_and_lives(request: Any, context: Any) -> None:
    if request._api == "DeleteRecords":
        print("panicked at DeleteRecords", flush=True)


def closes_all_connections(request: Any, context: Any) -> None:
    """Those of others too, as one does that is short of memory; it goes on listening."""
    if request._api == "DeleteRecords":
        for transport in list(_transports):
            transport.abort()
        _close("all connections at once")


def dies_of_delete_records(request: Any, context: Any) -> None:
    if request._api == "DeleteRecords":
        print("panicked at DeleteRecords", flush=True)
        os._exit(101)


def dies_at_work_once(request: Any, context: Any) -> None:
    """Of a write in the middle of a load, however a slow machine batches it; the file says so to the next one."""
    if request._api == "Produce":
        _state["records"] += sum(one.header.record_count for one in _batches_of(request))
    if _state["records"] > RECORDS and not Path("died").exists():
        Path("died").touch()
        os._exit(101)


HABITS: dict[str, Habit] = {
    name: found
    for name, found in list(globals().items())
    if callable(found) and getattr(found, "__module__", "") == __name__ and not name.startswith("_")
}


def _refuse_to_write(answer: Any) -> Any:
    for topic in answer.responses if answer is not None else ():
        for part in topic.partition_responses:
            part.error_code, part.base_offset = errors.KAFKA_STORAGE_ERROR, -1
    return answer


def _refuse_to_read(answer: Any) -> Any:
    for topic in answer.responses:
        for part in topic.partitions:
            part.error_code, part.records = errors.TOPIC_AUTHORIZATION_FAILED, None
    return answer


def _coordinates_nothing(answer: Any) -> Any:
    for group in answer.groups if _state["poisoned"] else ():
        group.error_code, group.topics = errors.NOT_COORDINATOR, []
    return answer


EDITS = {
    "loses_a_coordinator": ("OffsetFetch", _coordinates_nothing),
    "cannot_write": ("Produce", _refuse_to_write),
    "lets_nobody_read": ("Fetch", _refuse_to_read),
}


async def _answered(answer: Any, edit: Callable[[Any], Any], after_s: float) -> Any:
    await asyncio.sleep(after_s)
    return edit(await answer if asyncio.iscoroutine(answer) or asyncio.isfuture(answer) else answer)


def plant(name: str) -> None:
    """Gives every connection of this process the habit."""
    habit, served_as, made = HABITS[name], node.dispatch, server.ClientConnection.connection_made
    late = SLOW if name == "slow" else {}
    edited, edit = EDITS.get(name, ("", lambda answer: answer))

    def dispatch(served: Any, request: Any, context: Any) -> Any:
        habit(request, context)
        answer = served_as(served, request, context)
        if request._api not in (*late, edited):
            return answer
        return _answered(answer, edit, late.get(request._api, 0.0))

    def connection_made(self: Any, transport: Any) -> None:
        _transports.append(transport)
        made(self, transport)

    node.dispatch = dispatch  # type: ignore[attr-defined]
    server.ClientConnection.connection_made = connection_made  # type: ignore[method-assign]


def toml(folder: Path, habit: str, *, supervised: bool = False, more: str = "") -> str:
    """A `file:` target; `supervised`: a shell starts the broker again when it dies, and the suite is not told."""
    folder.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, str(Path(__file__).resolve()), habit, "node", "--data={data}", "--port={port}"]
    if supervised:
        words = ["sh", "-c", 'while :; do "$@"; sleep 0.3; done', "again", *words]
    path = folder / "broker.toml"
    path.write_text(f"start = {words!r}\nready = {{ within_s = 30 }}\n{more}\n")
    return f"file:{path}"


if __name__ == "__main__":
    plant(sys.argv[1])
    sys.exit(main(sys.argv[2:]))
