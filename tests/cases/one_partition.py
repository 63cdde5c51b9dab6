"""A log of one partition behind an Exchanger, with the liberties that a correct broker may take."""

from __future__ import annotations

from uuid import UUID

from brokertrial.wire import errors
from brokertrial.wire.messages import response
from brokertrial.wire.records import batches, patch
from tests.suites.scripted import ScriptedExchanger

TOPIC_ID = UUID(int=7)


class OnePartition:
    """Answers CreateTopics, Metadata, Produce, Fetch, ListOffsets and DeleteRecords for whatever topic is asked for.

    `holes`: an offset is left out before each batch but the first. `late_watermark`: a poll that may wait for more than
    500 ms prints the high watermark of before the last append. `cut`: so many bytes of a batch that did not fit follow
    the last whole one. `printed`: what is added to every high watermark printed, which is no liberty.
    """

    def __init__(self, *, holes: int = 0, late_watermark: bool = False, cut: bytes = b"", printed: int = 0) -> None:
        self.holes, self.late_watermark, self.cut, self.printed = holes, late_watermark, cut, printed
        self.log: list[bytes] = []
        self.start = self.end = self.before = 0

    def exchanger(self) -> ScriptedExchanger:
        return ScriptedExchanger(
            CreateTopics=lambda asked: response("CreateTopics", topics=[{"name": row.name} for row in asked.topics]),
            Metadata=self.metadata,
            Produce=self.produce,
            Fetch=self.fetch,
            ListOffsets=self.list_offsets,
            DeleteRecords=self.delete_records,
        )

    def metadata(self, asked):
        part = {"partition_index": 0, "leader_id": 1, "leader_epoch": 0, "replica_nodes": [1], "isr_nodes": [1]}
        return response(
            "Metadata",
            brokers=[{"node_id": 1, "host": "h", "port": 9}],
            controller_id=1,
            topics=[{"name": row.name, "topic_id": TOPIC_ID, "partitions": [part]} for row in asked.topics or []],
        )

    def produce(self, asked):
        base, self.before = self.end + (self.holes if self.log else 0), self.end
        self.log.append(bytes(patch(bytes(asked.topic_data[0].partition_data[0].records), base, 0)))
        self.end = next(batches(self.log[-1])).header.last_offset + 1
        part = {"index": 0, "base_offset": base, "log_start_offset": self.start}
        return response("Produce", responses=[{"topic_id": TOPIC_ID, "partition_responses": [part]}])

    def fetch(self, asked):
        at = asked.topics[0].partitions[0].fetch_offset
        if not self.start <= at <= self.end:
            part = {"error_code": errors.OFFSET_OUT_OF_RANGE, "high_watermark": -1, "last_stable_offset": -1}
        else:
            held = b"".join(part for part in self.log if next(batches(part)).header.last_offset >= at)
            high = self.before if self.late_watermark and asked.max_wait_ms > 500 else self.end
            part = {
                "high_watermark": high + self.printed,
                "log_start_offset": self.start,
                "records": held + (self.cut if held else b""),
            }
        return response("Fetch", responses=[{"topic_id": TOPIC_ID, "partitions": [{"partition_index": 0, **part}]}])

    def list_offsets(self, asked):
        offset = self.start if asked.topics[0].partitions[0].timestamp == -2 else self.end
        part = {"partition_index": 0, "offset": offset}
        return response("ListOffsets", topics=[{"name": asked.topics[0].name, "partitions": [part]}])

    def delete_records(self, asked):
        self.start = max(self.start, asked.topics[0].partitions[0].offset)
        part = {"partition_index": 0, "low_watermark": self.start}
        return response("DeleteRecords", topics=[{"name": asked.topics[0].name, "partitions": [part]}])
