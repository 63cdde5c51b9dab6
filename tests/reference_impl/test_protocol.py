"""The broker at the level of frames, where no client library goes."""

from __future__ import annotations

import socket
import struct
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from brokertrial.wire import apis, errors, frames, records
from brokertrial.wire.messages import Struct, request
from tests.reference_impl.brokers import BrokerProcess, Deadline


class Wire:
    """One connection, one request at a time."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def frame(self) -> bytes:
        return self._take(int.from_bytes(self._take(4), "big"))

    def _take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    def call(self, message: Struct, version: int) -> Struct:
        self.send(frames.encode_request(message, version, 1, "test"))
        return frames.decode_response(message._api, version, self.frame())[1]

    def is_closed(self) -> bool:
        try:
            self.frame()
        except ConnectionError:
            return True
        return False

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def connect(broker: BrokerProcess) -> Iterator[Callable[[], Wire]]:
    opened: list[Wire] = []

    def one() -> Wire:
        opened.append(Wire(broker.port))
        return opened[-1]

    yield one
    for wire in opened:
        wire.close()


@pytest.fixture
def wire(connect: Callable[[], Wire]) -> Wire:
    return connect()


@pytest.fixture
def topic(wire: Wire) -> str:
    """Kept for ever: some records here are of 1970, and the broker looks for old ones twice a second."""
    return create(wire, retention_ms="-1")


def create(wire: Wire, **configs: str) -> str:
    name = f"t-{uuid.uuid4().hex[:8]}"
    entries = [{"name": k.replace("_", "."), "value": v} for k, v in configs.items()]
    wanted = {"name": name, "num_partitions": 1, "replication_factor": 1, "configs": entries}
    assert wire.call(request("CreateTopics", topics=[wanted]), 7).topics[0].error_code == 0
    return name


def produced(topic: str, data: bytes, **fields: Any) -> Struct:
    parts = [{"name": topic, "partition_data": [{"index": 0, "records": data}]}]
    return request("Produce", **{"acks": -1, "timeout_ms": 5000, "topic_data": parts, **fields})


def append(wire: Wire, topic: str, data: bytes) -> Any:
    return wire.call(produced(topic, data), 9).responses[0].partition_responses[0]


def batch(*values: bytes, at: int | None = None, **fields: Any) -> bytes:
    now = int(time.time() * 1000) if at is None else at
    return records.build_batch([records.Record(b"k", v, timestamp=now) for v in values], **fields)


def fetched(topic: str, offset: int, **fields: Any) -> Struct:
    parts = [{"topic": topic, "partitions": [{"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}]}]
    return request("Fetch", **{"max_wait_ms": 0, "min_bytes": 1, "topics": parts, **fields})


@pytest.mark.parametrize("size", [-1, 104_857_601, 0x7FFFFFFF, 4])
def test_a_frame_that_cannot_be_closes_only_its_own_connection(connect: Callable[[], Wire], size: int) -> None:
    bad, good = connect(), connect()
    bad.send(struct.pack(">i", size) + b"\0" * 4)
    assert bad.is_closed()
    assert good.call(request("ApiVersions"), 0).error_code == 0


def test_an_unknown_api_or_version_closes(connect: Callable[[], Wire]) -> None:
    for key, version in ((9999, 0), (0, 99), (0, 2), (3, -1)):
        wire = connect()
        wire.send(struct.pack(">ihhih", 10, key, version, 1, -1))
        assert wire.is_closed()


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(wire: Wire) -> None:
    wire.send(struct.pack(">ihhihb", 11, 18, 99, 5, -1, 0))
    _, answer = frames.decode_response("ApiVersions", 0, wire.frame())
    assert answer.error_code == errors.UNSUPPORTED_VERSION
    assert [k.api_key for k in answer.api_keys] == [18]
    assert wire.call(request("ApiVersions"), 0).error_code == 0


def test_every_advertised_version_of_every_api_is_answered_or_refused_in_its_own_words(
    connect: Callable[[], Wire],
) -> None:
    """A request of nothing but defaults, in every version: a decodable answer, and the broker lives."""
    offered = connect().call(request("ApiVersions", client_software_name="a", client_software_version="1"), 3)
    waits = {"JoinGroup", "SyncGroup", "ConsumerGroupHeartbeat"}
    for entry in offered.api_keys:
        api = apis.by_key(entry.api_key)
        assert api is not None
        if api.name in waits:
            continue
        for version in range(max(entry.min_version, api.min_version), entry.max_version + 1):
            wire = connect()
            wire.call(request(api.name, **({"acks": 1} if api.name == "Produce" else {})), version)
            wire.close()


def test_answers_come_in_the_order_of_the_requests(wire: Wire, topic: str) -> None:
    slow = fetched(topic, 0, max_wait_ms=300)
    wire.send(frames.encode_request(slow, 12, 1, "t") + frames.encode_request(request("ApiVersions"), 0, 2, "t"))
    assert [int.from_bytes(wire.frame()[:4], "big") for _ in range(2)] == [1, 2]


def test_acks_0_is_not_answered_and_its_failure_closes(connect: Callable[[], Wire], topic: str) -> None:
    wire = connect()
    wire.send(frames.encode_request(produced(topic, batch(b"a"), acks=0), 9, 1, "t"))
    wire.send(frames.encode_request(request("ApiVersions"), 0, 2, "t"))
    assert int.from_bytes(wire.frame()[:4], "big") == 2
    wire.send(frames.encode_request(produced("no-such-topic", batch(b"a"), acks=0), 9, 3, "t"))
    assert wire.is_closed()


def test_a_long_poll_ends_as_soon_as_there_is_enough(connect: Callable[[], Wire], topic: str) -> None:
    """Over and over, for the news may come between the first look and the wait."""
    reader, writer = connect(), connect()
    for offset in range(40):
        began = time.monotonic()
        reader.send(frames.encode_request(fetched(topic, offset, max_wait_ms=15_000), 12, 1, "t"))
        assert append(writer, topic, batch(b"a")).error_code == 0
        _, answer = frames.decode_response("Fetch", 12, reader.frame())
        assert time.monotonic() - began < 10, f"woken too late at offset {offset}"
        assert len(answer.responses[0].partitions[0].records) > 0


def test_the_first_batch_is_whole_however_small_the_limits(wire: Wire, topic: str) -> None:
    append(wire, topic, batch(b"x" * 5000))
    append(wire, topic, batch(b"y" * 5000))
    answer = wire.call(fetched(topic, 0, max_bytes=1), 12)
    found = list(records.batches(answer.responses[0].partitions[0].records, cut_allowed=False))
    assert [b.header.base_offset for b in found] == [0]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", errors.INVALID_RECORD),
        (batch(b"a") + batch(b"b"), errors.INVALID_RECORD),
        (batch(b"a")[:-1], errors.INVALID_RECORD),
        (batch(b"a", crc=1), errors.CORRUPT_MESSAGE),
        (batch(b"a", magic=3), errors.CORRUPT_MESSAGE),
        (batch(b"a", magic=1), errors.INVALID_RECORD),
        (batch(b"a", base_offset=3), errors.INVALID_RECORD),
        (batch(b"a", b"b", record_count=1), errors.INVALID_RECORD),
        (batch(b"a", b"b", last_offset_delta=0), errors.INVALID_RECORD),
        (batch(b"a", control=True), errors.INVALID_RECORD),
        (batch(b"a", producer_id=5), errors.INVALID_RECORD),
        (batch(b"a", attributes=5), errors.UNKNOWN_SERVER_ERROR),
        (batch(b"a", attributes=1), errors.UNKNOWN_SERVER_ERROR),
        (batch(b"a", at=1 << 50), errors.INVALID_TIMESTAMP),
        (batch(b"a" * 1_100_000), errors.MESSAGE_TOO_LARGE),
        (batch(b"a", at=0), errors.NONE),
        (batch(b"a", at=-1), errors.NONE),
        (batch(b"a") + b"12345", errors.NONE),
        (batch(b"a", max_timestamp=5), errors.NONE),
    ],
    ids=lambda value: "batch" if isinstance(value, bytes) else str(value),  # the bytes hold the time of day
)
def test_a_batch_is_judged_as_kafka_judges_it(wire: Wire, topic: str, data: bytes, error: int) -> None:
    """Each of these was put to Apache Kafka 4.4.0 too."""
    assert append(wire, topic, data).error_code == error
    answer = wire.call(fetched(topic, 0), 12).responses[0].partitions[0]
    assert answer.high_watermark == (1 if error == errors.NONE else 0)
    assert all(b.crc_ok() for b in records.batches(answer.records))


@pytest.mark.parametrize("none", [batch(b"a", magic=3), batch(b"a", batch_length=13)], ids=["magic 3", "too short"])
def test_what_begins_no_batch_has_the_whole_request_refused(wire: Wire, topic: str, none: bytes) -> None:
    """Kafka looks through all of them for transactional ones first; only what it finds out later is refused alone."""
    other = create(wire)
    for bad, told in ((none, errors.CORRUPT_MESSAGE), (batch(b"a", crc=1), errors.NONE)):
        topics = [
            {"name": name, "partition_data": [{"index": 0, "records": data}]}
            for name, data in ((topic, batch(b"good")), (other, bad))
        ]
        answer = wire.call(produced(topic, b"", topic_data=topics), 9)
        rows = {row.name: row.partition_responses[0] for row in answer.responses}
        assert (rows[topic].error_code, rows[other].error_code) == (told, errors.CORRUPT_MESSAGE)


def test_records_without_a_key_are_named_on_a_compacted_topic(wire: Wire) -> None:
    topic = create(wire, cleanup_policy="compact")
    rows = [records.Record(k, b"v", timestamp=int(time.time() * 1000)) for k in (b"a", None, b"", None)]
    answer = append(wire, topic, records.build_batch(rows))
    assert answer.error_code == errors.INVALID_RECORD
    assert [e.batch_index for e in answer.record_errors] == [1, 3]


def test_log_append_time_and_another_codec_rewrite_the_batch(wire: Wire) -> None:
    topic = create(wire, message_timestamp_type="LogAppendTime", compression_type="zstd")
    answer = append(wire, topic, batch(b"a", b"b", at=5, compression="gzip"))
    assert answer.error_code == 0
    stored = next(records.batches(wire.call(fetched(topic, 0), 12).responses[0].partitions[0].records))
    assert stored.crc_ok() and stored.header.compression == "zstd" and stored.header.timestamp_type == "append"
    assert [(r.value, r.timestamp) for r in stored.records()] == [
        (b"a", answer.log_append_time_ms),
        (b"b", answer.log_append_time_ms),
    ]


@pytest.mark.parametrize(("room", "offset", "told"), [(1, 0, None), (0, 0, []), (1, 1, [])])
def test_aborted_transactions_are_not_told_of_where_a_batch_was_dropped(
    wire: Wire, topic: str, room: int, offset: int, told: list[Any] | None
) -> None:
    other = create(wire)
    for name in (topic, other):
        append(wire, name, batch(b"v"))
    parts = [
        {"topic": name, "partitions": [{"partition": 0, "fetch_offset": at, "partition_max_bytes": most}]}
        for name, at, most in ((topic, 0, 1 << 20), (other, offset, room))
    ]
    part = wire.call(fetched(topic, 0, isolation_level=1, topics=parts), 12).responses[1].partitions[0]
    assert (bytes(part.records), part.aborted_transactions) == (b"", told)


def test_a_fetch_session_answers_only_what_changed(wire: Wire, topic: str) -> None:
    opened = wire.call(fetched(topic, 0), 12)  # no session asked for
    assert opened.session_id == 0
    opened = wire.call(fetched(topic, 0, session_epoch=0), 12)
    session = opened.session_id
    assert session > 0

    def again(epoch: int, **fields: Any) -> Any:
        return wire.call(fetched(topic, 0, **{"topics": [], **fields}, session_id=session, session_epoch=epoch), 12)

    assert again(1).responses == []
    append(wire, topic, batch(b"a"))
    assert again(2).responses[0].partitions[0].high_watermark == 1
    assert again(2).error_code == errors.INVALID_FETCH_SESSION_EPOCH
    assert again(3, forgotten_topics_data=[{"topic": topic, "partitions": [0]}]).responses == []
    assert again(4).error_code == errors.FETCH_SESSION_ID_NOT_FOUND


def test_old_segments_go_and_their_readers_are_told(wire: Wire) -> None:
    topic = create(wire, segment_ms="1", retention_ms="200", message_timestamp_before_max_ms=str(1 << 60))
    for number in range(3):
        append(wire, topic, batch(b"old", at=1_000 + 10 * number))
    earliest = request("ListOffsets", replica_id=-1, topics=[{"name": topic, "partitions": [{"timestamp": -2}]}])
    until = time.monotonic() + 30
    while wire.call(earliest, 5).topics[0].partitions[0].offset < 2:
        assert time.monotonic() < until, "retention did not delete the old segments within 30 s"
    answer = wire.call(fetched(topic, 0), 12)
    assert answer.responses[0].partitions[0].error_code == errors.OFFSET_OUT_OF_RANGE


def test_leader_epochs_rise_with_each_start_and_tell_where_each_ended(start_broker: Any) -> None:
    broker = start_broker()
    name = ""
    for count in (3, 2):
        wire = Wire(broker.port)
        name = name or create(wire)
        append(wire, name, batch(*[b"x"] * count))
        wire.close()
        broker.terminate()
        broker.start()
    wire = Wire(broker.port)

    def end_of(epoch: int) -> tuple[int, int, int]:
        wanted = {"partition": 0, "current_leader_epoch": -1, "leader_epoch": epoch}
        asked = request("OffsetForLeaderEpoch", replica_id=-1, topics=[{"topic": name, "partitions": [wanted]}])
        found = wire.call(asked, 3).topics[0].partitions[0]
        return found.error_code, found.leader_epoch, found.end_offset

    assert [end_of(e) for e in (0, 1, 2, 3)] == [(0, 0, 3), (0, 1, 5), (0, 2, 5), (0, -1, -1)]
    wire.close()


def test_an_api_can_be_left_out_and_settings_given(start_broker: Any) -> None:
    broker = start_broker("--without", "DeleteRecords,CreatePartitions", "--set", "num.partitions=3")
    wire = Wire(broker.port)
    keys = {k.api_key for k in wire.call(request("ApiVersions"), 0).api_keys}
    assert 21 not in keys and 37 not in keys
    answer = wire.call(request("Metadata", topics=[{"name": "made-on-use"}]), 9)
    assert len(answer.topics[0].partitions) == 3
    wire.close()


def test_the_planted_swap_appends_the_second_of_two_pipelined_batches_first(start_broker: Any) -> None:
    broker = start_broker("--mutant", "M05:every=1")
    wire = Wire(broker.port)
    topic = create(wire)
    identity = {"producer_id": 900, "producer_epoch": 0}
    both = [batch(b"first", b_seq, **identity, base_sequence=i * 2) for i, b_seq in enumerate((b"1", b"2"))]
    wire.send(b"".join(frames.encode_request(produced(topic, b), 9, i, "t") for i, b in enumerate(both)))
    answers = [frames.decode_response("Produce", 9, wire.frame()) for _ in both]
    assert [correlation for correlation, _ in answers] == [0, 1]
    assert [a.responses[0].partition_responses[0].base_offset for _, a in answers] == [2, 0]
    wire.close()


def test_the_planted_bugs_of_the_listener_bite(start_broker: Any) -> None:
    planted = [f"--mutant={bug}:every=1" for bug in ("M39a", "M39b", "M39c", "M39f")]
    broker = start_broker(*planted)

    def answer_to(frame: bytes) -> bytes | None:
        wire = Wire(broker.port)
        wire.send(frame)
        try:
            return wire.frame()
        except ConnectionError:
            return None
        finally:
            wire.close()

    versions, metadata = request("ApiVersions"), request("Metadata", topics=[])
    assert answer_to(frames.encode_request(versions, 0, 7, "t")) is not None
    named = request("ApiVersions", client_software_name="t", client_software_version="1")
    assert (answer_to(frames.encode_request(named, 3, 7, "t")) or b"")[4:7] == b"\0\0\0"  # a tag section too many
    assert answer_to(struct.pack(">ihhihb", 11, 18, 99, 5, -1, 0)) is None
    assert answer_to(frames.encode_request(metadata, 9, 1, None)) is None
    assert answer_to(frames.encode_request(metadata, 9, 1, "t")) is not None
    tagged = request("Metadata", topics=[], _unknown_tags=((9999, b"x"),))
    assert answer_to(frames.encode_request(tagged, 9, 1, "t")) is None


def test_the_planted_poll_skip_passes_over_the_batch_that_woke_it(start_broker: Any) -> None:
    broker = start_broker("--mutant", "M06:every=1")
    reader, writer = Wire(broker.port), Wire(broker.port)
    topic = create(writer)
    deadline, offset, skipped = Deadline("a fetch that was waiting when its data came"), 0, False
    while not skipped and deadline:
        reader.send(frames.encode_request(fetched(topic, offset, max_wait_ms=20_000), 12, 1, "t"))
        append(writer, topic, batch(b"news"))
        _, answer = frames.decode_response("Fetch", 12, reader.frame())
        found = next(records.batches(answer.responses[0].partitions[0].records))
        assert found.crc_ok() and found.header.last_offset == offset
        skipped, offset = found.header.record_count == 0, offset + 1
    assert wire_records(writer, topic) == [b"news"] * offset
    for wire in (reader, writer):
        wire.close()


def wire_records(wire: Wire, topic: str) -> list[bytes | None]:
    answer = wire.call(fetched(topic, 0), 12).responses[0].partitions[0]
    return [r.value for b in records.batches(answer.records) for r in b.records()]
