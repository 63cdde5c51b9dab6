"""A fetch session on one partition that stays open while the case goes on, and is asked once more when it is over."""

from __future__ import annotations

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.fetch import Fetched
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire.messages import Struct, request

OLDEST = 7
"""Fetch has sessions from this version on."""


class StandingFetch:
    """Opened at the end of the log: what comes after it is news, of which an incremental Fetch must tell."""

    def __init__(self, wire: Wire, topic: str, partition: int) -> None:
        self._wire, self._topic, self._partition = wire, topic, partition
        self._topic_id = wire.topic_id(topic)
        self._node = wire.leader(topic, partition)
        self._via = f"standing-{topic}-{partition}"
        self._session = 0
        self._version = wire.by_name("Fetch", [topic], 12) or max(wire.versions("Fetch"), default=0)
        end = wire.list_offsets(topic, partition, via=self._via, retry=False)
        self._position = -1 if end.error else end.offset
        if self._position >= 0 and self._version >= OLDEST:
            opened = self._ask(0, 0)
            self._session = 0 if opened.error else opened.struct.session_id

    def must_be_told(self) -> None:
        """All that was appended since it was opened begins in the answer to an incremental Fetch, where it is there."""
        wire = self._wire
        if not self._session or not self._is_as_it_was():
            return
        start = wire.list_offsets(self._topic, self._partition, at="earliest", via=self._via)
        end = wire.list_offsets(self._topic, self._partition, via=self._via)
        if start.error or end.error or not start.offset <= self._position < end.offset:
            return
        news = self._ask(self._session, 1)
        if news.error:  # a session may be given up for others; topics and leaders may have changed meanwhile
            return
        rows = [part for row in news.struct.responses for part in row.partitions]
        wire.must(
            bool(rows and rows[0].records),
            f"it was opened at offset {self._position}, the end is {end.offset}, and it is told of nothing new",
            end,
            news,
        )
        told = Fetched(news.asked).must_succeed()
        plain = wire.fetch(self._topic, self._partition, offset=self._position, via=self._via).must_succeed()
        first, wanted = told.batches[0].header, plain.batches[0].header
        wire.must(  # asked in this order, for compaction may come between the two
            self._position <= first.last_offset and first.base_offset <= wanted.base_offset,
            f"it is told of the batch at offset {first.base_offset}; it must be that at {wanted.base_offset}",
            told,
            plain,
        )

    def _is_as_it_was(self) -> bool:
        self._wire.refresh_metadata(self._topic)
        known = self._wire.known_partitions(self._topic)
        return known.get(self._partition) == self._node and self._wire.topic_id(self._topic) == self._topic_id

    def _ask(self, session: int, epoch: int) -> Response:
        wanted = {"partition": self._partition, "fetch_offset": self._position, "partition_max_bytes": 1 << 20}
        topics = [{"topic": self._topic, "topic_id": self._topic_id, "partitions": [wanted]}]
        return self._wire.ask(_fetch(session, epoch, [] if session else topics), **self._how)

    @property
    def _how(self) -> dict[str, object]:
        return {"to": self._node, "via": self._via, "version": self._version}


def _fetch(session: int, epoch: int, topics: list[dict[str, object]]) -> Struct:
    return request(
        "Fetch",
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=0x7FFFFFFF,
        isolation_level=0,
        session_id=session,
        session_epoch=epoch,
        topics=topics,
    )
