"""Fetch 12 of `__cluster_metadata`: the metadata log as record batches, one JSON record a value.

A broker asks from where it is; the answer comes when there is more, or when its time is up. The high watermark is the
log's end: every record is durable before it is applied. Gaps: no snapshots, so a new broker reads everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import CloseConnection, Context, handles
from brokertrial.reference_impl.control.image import JsonRecord
from brokertrial.wire.messages import Struct, response
from brokertrial.wire.records import Record, build_batch

_RECORDS = 1000
_TOPIC = "__cluster_metadata"


@handles("Fetch", 12, 12, of_controller=True)
def fetch_metadata(request: Struct, context: Context) -> Struct | Awaitable[Struct]:
    """At once if there is more, else later."""
    if not (request.topics and request.topics[0].partitions):
        raise CloseConnection("a Fetch of nothing")
    offset = max(request.topics[0].partitions[0].fetch_offset, 0)
    if offset < context.node.journal.end or request.max_wait_ms <= 0:
        return _answer(offset, context)
    return _wait(offset, request.max_wait_ms / 1000, context)


async def _wait(offset: int, limit_s: float, context: Context) -> Struct:
    journal, news = context.node.journal, asyncio.Event()

    def applied(_: JsonRecord) -> None:
        news.set()

    journal.applied.append(applied)
    try:
        async with asyncio.timeout(limit_s):
            await news.wait()
    except TimeoutError:
        pass
    finally:
        journal.applied.remove(applied)
    return _answer(offset, context)


def _answer(offset: int, context: Context) -> Struct:
    journal = context.node.journal
    texts = journal.texts[offset : offset + _RECORDS]
    if bugs.on("B364"):
        texts = [text if len(text) <= 32 * 1024 else journal.texts[0] for text in texts]
    batch = build_batch([Record(key=None, value=text) for text in texts], base_offset=offset) if texts else b""
    part = {"partition_index": 0, "error_code": 0, "high_watermark": journal.end, "records": batch}
    return response("Fetch", responses=[{"topic": _TOPIC, "partitions": [part]}])
