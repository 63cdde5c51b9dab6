"""Every request of a case of single requests with its response, one line each: the one at fault is marked.

      1   0.004 s  main -> node 1   ApiVersions v3    client_software_name "..."        ok
      8   0.061 s  main -> node 1   Produce v13       name "topic1", index 0, 1 record  NOT_LEADER_OR_FOLLOWER  <-

Read from the stored exchanges alone, so the steps can be shown again at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from brokertrial.histories.reader import History
from brokertrial.histories.rows import Exchange
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.naming import Shortening, name_in_case
from brokertrial.suites.probe.rendering import errors_in, render
from brokertrial.suites.result import CaseResult, Evidence
from brokertrial.wire import errors
from brokertrial.wire.codec import Malformed
from brokertrial.wire.errors import UNSUPPORTED_VERSION
from brokertrial.wire.frames import decode_request, decode_response
from brokertrial.wire.messages import Struct
from brokertrial.wire.records import batches

WIDTH = 200
FEW = 2
"""Of the rows of one list, those that a line shows."""
PLAIN = (
    *("throttle_time_ms", "timeout_ms", "topic_id", "cluster_id", "session_id"),
    *("client_software_name", "client_software_version"),
)
"""Fields that say nothing about the request or the response."""
KINDS_OF_NAMES = ("t", "g", "x", "m", "n", "absent", "broken", "empty", "half", "nobody", "once", "twice", "uniform")
"""How the short names of cases begin."""
MADE = 40
NAMED = frozenset(
    ("index", "partition_index", "partition", "offset", "base_offset", "fetch_offset", "committed_offset")
)
"""Fields that are shown where they are 0, too."""
SIZE = 4
BEFORE_ID = 8
"""Bytes of a request before its correlation id: size, API, version."""
OURS = "close"
"""What is stored where the case itself closed the connection."""


@dataclass(frozen=True)
class ExchangeStep:
    """One exchange. `number` counts from 1, as `op` does in the history."""

    number: int
    at_s: float
    took_ms: float | None
    connection: str
    node: str
    api: str
    request: str
    response: str
    failed: bool = False
    """The response carries an error, or there is none."""
    note: str = ""
    """Why this one is at fault; empty where it is not."""
    content: int = 0
    """A hash of request and response without their correlation ids: what two exchanges that are alike share."""

    @property
    def where(self) -> str:
        return f"{self.connection} → {self.node}"

    @property
    def took(self) -> str:
        return "" if self.took_ms is None else f"{self.took_ms:.1f} ms"


def steps_of(history: History, result: CaseResult | None = None) -> list[ExchangeStep]:
    """All exchanges of a stored case in the order of their requests, those that `result` accuses with a note."""
    rows = [row for row in history.rows("exchanges") if isinstance(row, Exchange)]
    short, accused = short_names(history), _accused(result)
    start = history.title.started_ns
    return [
        _step(number, row, start, accused, short)
        for number, row in enumerate(sorted(rows, key=lambda row: row.call_ns), 1)
    ]


def whole(history: History, number: int) -> tuple[str, str]:
    """The decoded request and response of one step, in full."""
    rows = sorted((row for row in history.rows("exchanges") if isinstance(row, Exchange)), key=lambda row: row.call_ns)
    row, short = rows[number - 1], short_names(history)
    return (
        short(_text(_request(row), row.version, row.request)),
        short(_text(_response(row), row.version, row.response or b"")),
    )


def short_names(history: History) -> Shortening:
    """Short names for the topics, groups and ids that the case made: they follow from its header."""
    told = history.header.settings.get("scene")
    if not isinstance(told, dict):
        return Shortening({})
    of = msgspec.convert(told, CaseContext)
    made = [(letter, number) for number in range(1, MADE + 1) for letter in KINDS_OF_NAMES]
    return Shortening({name_in_case(of, *each): "{}{}".format(*each) for each in made})


def _accused(result: CaseResult | None) -> list[Evidence]:
    if result is None:
        return []
    proofs = (result.evidence, *(failure.evidence for failure in result.failures))
    return [entry for proof in proofs for entry in proof if entry.bytes_hex]


def _note(row: Exchange, accused: Sequence[Evidence]) -> str:
    """What the evidence says of this exchange, known again by its bytes."""
    request, response = row.request.hex(), (row.response or b"").hex()
    mine = [one for one in accused if one.bytes_hex and one.bytes_hex in (request, response)]
    return next((one.note for one in mine if one.note), "evidence" if mine else "")


def _step(number: int, row: Exchange, start: int, accused: Sequence[Evidence], short: Shortening) -> ExchangeStep:
    asked, came = _request(row), _response(row)
    response, failed = _told(row, came)
    return ExchangeStep(
        number=number,
        at_s=(row.call_ns - start) / 1e9,
        took_ms=(row.return_ns - row.call_ns) / 1e6 if row.return_ns is not None else None,
        connection=row.client or "",
        node="bootstrap" if row.node in (None, -1) else f"node {row.node}",
        api=f"{row.api} v{row.version}" if row.version >= 0 else row.api or "raw",
        request=short(gist(asked) if isinstance(asked, Struct) else _raw(row.request)),
        response=short(response),
        failed=failed,
        note=_note(row, accused),
        content=_content(row.request, row.response or b""),
    )


def _content(request: bytes, response: bytes) -> int:
    return hash((request[:BEFORE_ID], request[BEFORE_ID + SIZE :], response[SIZE * 2 :]))


def _told(row: Exchange, came: Struct | str) -> tuple[str, bool]:
    """The response in a line, and whether it is an error."""
    if row.response is None and row.error in (None, OURS):
        return "no response" if row.error is None else "no response; closed by the client", False
    if row.response is None:
        return row.error or "", True
    if isinstance(came, str):
        return came, True
    if found := list(dict.fromkeys(code for _, code in errors_in(came))):
        return ", ".join(f"{errors.name(code)} ({code})" for code in found[:FEW]), True
    return _answered(came), False


def _answered(came: Struct) -> str:
    """Two responses that are long, and what a reader wants of them is short."""
    if came._api == "ApiVersions":
        return f"{len(came.api_keys)} APIs"
    if came._api == "Metadata":
        topics = [f"{topic.name or topic.topic_id}: {_count(topic.partitions, 'partition')}" for topic in came.topics]
        return ", ".join([_count(came.brokers, "broker"), *topics[:FEW], *(["..."] if len(topics) > FEW else [])])
    return gist(came) or "ok"


def _request(row: Exchange) -> Struct | str:
    try:
        return decode_request(row.request[SIZE:])[1]
    except (Malformed, ValueError, KeyError, LookupError) as error:
        return f"cannot be decoded: {error}"


def _response(row: Exchange) -> Struct | str:
    if not row.response or row.version < 0:
        return _raw(row.response or b"")
    try:
        return decode_response(row.api, _layout(row), row.response)[1]
    except (Malformed, ValueError, KeyError, LookupError) as error:
        return f"cannot be decoded: {error}"


def _layout(row: Exchange) -> int:
    """A version of ApiVersions that a broker does not know is answered in the layout of version 0 (KIP-511)."""
    unknown = (row.response or b"")[SIZE : SIZE + 2] == UNSUPPORTED_VERSION.to_bytes(2, "big")
    return 0 if row.api == "ApiVersions" and unknown else row.version


def _text(message: Struct | str, version: int, data: bytes) -> str:
    if isinstance(message, str):
        return f"{message}\n{data.hex(' ')}" if data else "nothing"
    return render(message, version)[0]


def _raw(data: bytes) -> str:
    return f"{len(data)} bytes: {data[:16].hex(' ')}{' ...' if len(data) > 16 else ''}"


def gist(message: Struct) -> str:
    """What a message says in a line: the fields that are not at their default."""
    text = ", ".join(_leaves(message))
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 2]} …"


def _leaves(struct: Struct) -> Iterator[str]:
    for field in struct._fields:
        value = getattr(struct, field.name)
        if field.name in PLAIN or value in (None, "", b"", -1, []):
            continue
        if not value and field.name not in NAMED:
            continue
        if isinstance(value, Struct):
            yield from _leaves(value)
        elif isinstance(value, list) and isinstance(value[0], Struct):
            for row in value[:FEW]:
                yield from _leaves(row)
            if len(value) > FEW:
                yield f"and {len(value) - FEW} more {field.name}"
        elif field.name == "records":
            yield _records(bytes(value))
        else:
            yield f"{field.name} {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{len(bytes(value))} bytes"
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(str, value[:FEW]))}{', ...' if len(value) > FEW else ''}]"
    return str(value)


def _records(data: bytes) -> str:
    try:
        headers = [batch.header for batch in batches(data)]
    except Exception:  # noqa: BLE001 - bytes that are no batches are what some cases send
        return f"{len(data)} bytes of records"
    return _count(range(sum(header.record_count for header in headers)), "record")


def _count(things: Sized, what: str) -> str:
    return f"{len(things)} {what}{'s' * (len(things) != 1)}"
