"""Record batches: round trips, other people's codecs, old formats, control markers, deliberately wrong ones."""

import zlib
from struct import pack

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record import MemoryRecords as KafkaPythonRecords

from brokertrial.wire import crc32c as checksums
from brokertrial.wire.records import (
    HEADER_SIZE,
    Marker,
    Record,
    RecordsMalformed,
    batches,
    build_batch,
    control_marker,
    patch,
    stamp,
)

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
optional_bytes = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=10), optional_bytes), max_size=3).map(tuple)
records = st.lists(
    st.builds(Record, key=optional_bytes, value=optional_bytes, headers=headers, timestamp=st.integers(0, 2**41)),
    min_size=1,
    max_size=20,
)
some = settings(max_examples=30, deadline=None, derandomize=True, database=None)


def content(record: object) -> tuple[object, ...]:
    """What both our records and other libraries' have."""
    return record.key, record.value, tuple(map(tuple, record.headers)), record.timestamp, record.offset  # type: ignore[attr-defined]


@some
@given(given_records=records, codec=st.sampled_from([*CODECS, "snappy-raw"]), base=st.integers(0, 2**40))
def test_what_was_built_is_read(given_records: list[Record], codec: str, base: int) -> None:
    data = build_batch(given_records, compression=codec, base_offset=base, producer_id=7, base_sequence=5)
    [batch] = batches(data)
    assert batch.crc_ok() and batch.header.size == len(data) == len(batch.bytes)
    assert batch.header.record_count == len(given_records) and batch.header.compression == codec.removesuffix("-raw")
    expected = [content(Record(r.key, r.value, r.headers, r.timestamp, base + i)) for i, r in enumerate(given_records)]
    assert [content(record) for record in batch.records()] == expected
    assert batch.header.last_offset == base + len(given_records) - 1
    assert batch.header.max_timestamp == max(record.timestamp for record in given_records)


@pytest.mark.parametrize("codec", CODECS)
@some
@given(given_records=records)
def test_aiokafka_and_kafka_python_read_ours(codec: str, given_records: list[Record]) -> None:
    data = build_batch(given_records, compression=codec)
    ours = [content(record) for record in next(batches(data)).records()]
    for library in (MemoryRecords, KafkaPythonRecords) if codec in ("none", "gzip") else (MemoryRecords,):
        batch = library(data).next_batch()
        assert batch.validate_crc()
        assert [content(record) for record in batch] == ours, library


@pytest.mark.parametrize(("codec", "number"), CODECS.items())
@some
@given(given_records=records)
def test_we_read_aiokafkas(codec: str, number: int, given_records: list[Record]) -> None:
    builder = DefaultRecordBatchBuilder(2, number, True, 9, 3, 11, 1 << 24)
    for offset, record in enumerate(given_records):
        builder.append(offset, record.timestamp, record.key, record.value, list(record.headers))
    data = bytes(builder.build())
    [batch] = batches(data)
    assert batch.crc_ok() and batch.header.is_transactional and batch.header.base_sequence == 11
    assert [content(record)[:4] for record in batch.records()] == [content(record)[:4] for record in given_records]
    if codec == "none":
        fields = {"producer_id": 9, "producer_epoch": 3, "base_sequence": 11}
        assert build_batch(given_records, transactional=True, leader_epoch=batch.header.leader_epoch, **fields) == data


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1, 2])
def test_old_message_sets(magic: int, codec: int) -> None:
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 20)
    for offset, value in enumerate((b"a", None, b"c" * 300)):
        builder.append(offset, 1_000 + offset, b"k", value)
    data = bytes(builder.build())
    if magic and codec:
        data = pack(">q", 2) + data[8:]  # the broker writes the last offset; the client leaves 0
    assert all(batch.crc_ok() for batch in batches(data))
    found = [record for batch in batches(data) for record in batch.records()]
    assert [(r.key, r.value, r.offset) for r in found] == [(b"k", b"a", 0), (b"k", None, 1), (b"k", b"c" * 300, 2)]
    assert [r.timestamp for r in found] == ([1_000, 1_001, 1_002] if magic else [-1, -1, -1])


def test_inner_offsets_of_magic_1_are_relative() -> None:
    builder = LegacyRecordBatchBuilder(1, 1, 1 << 20)
    for offset in range(3):
        builder.append(offset, 5, None, b"v")
    stored = pack(">q", 102) + bytes(builder.build())[8:]  # the broker writes the last offset
    assert [record.offset for batch in batches(stored) for record in batch.records()] == [100, 101, 102]


def test_control_markers() -> None:
    [batch] = batches(control_marker("ABORT", 77, 3, 12, base_offset=5))
    header = batch.header
    assert batch.marker() == Marker("ABORT", 12) and batch.crc_ok()
    assert header.is_control and header.is_transactional
    assert (header.base_sequence, header.producer_id, header.producer_epoch) == (-1, 77, 3)
    assert header.record_count == 1 and header.last_offset == 5
    with pytest.raises(RecordsMalformed, match="control"):
        next(batches(build_batch([Record(None, b"x")]))).marker()


def test_patching_leaves_the_crc_and_stamping_renews_it() -> None:
    data = build_batch([Record(b"k", b"v", timestamp=10), Record(b"k", b"w", timestamp=20)])
    [patched] = batches(patch(data, 1_000, 4))
    assert (patched.header.base_offset, patched.header.leader_epoch) == (1_000, 4) and patched.crc_ok()
    [stamped] = batches(stamp(data, 99))
    assert stamped.crc_ok() and stamped.header.timestamp_type == "append"
    assert [record.timestamp for record in stamped.records()] == [99, 99]


def test_sequences_wrap() -> None:
    three = [Record(None, b"x")] * 3
    [batch] = batches(build_batch(three, producer_id=1, producer_epoch=0, base_sequence=2**31 - 2))
    assert batch.header.last_sequence == 0
    assert next(batches(build_batch(three))).header.last_sequence == -1


def test_gaps_of_compaction() -> None:
    [batch] = batches(build_batch([Record(None, b"a"), Record(None, b"b")], base_offset=10, offset_deltas=[0, 7]))
    assert [record.offset for record in batch.records()] == [10, 17] and batch.header.last_offset == 17


@pytest.mark.parametrize(
    "wrong",
    [{"record_count": count} for count in (3, 1, -1, 2**31 - 1)] + [{"attributes": codec} for codec in (1, 5)],
)
def test_wrong_batches_are_malformed(wrong: dict[str, int]) -> None:
    [batch] = batches(build_batch([Record(None, b"a"), Record(None, b"b")], **wrong))
    assert batch.crc_ok()
    with pytest.raises(RecordsMalformed):
        list(batch.records())


def test_wrong_headers() -> None:
    assert not next(batches(build_batch([Record(None, b"a")], crc=1))).crc_ok()
    for wrong in ({"magic": 3}, {"batch_length": 10}, {"batch_length": -1}):
        with pytest.raises(RecordsMalformed):
            list(batches(build_batch([Record(None, b"a")], **wrong)))
    with pytest.raises(TypeError, match="colour"):
        build_batch([], colour=1)


def test_a_cut_last_batch_ends_the_batches_or_is_refused() -> None:
    data = build_batch([Record(None, b"a")])
    for cut in (1, HEADER_SIZE, len(data) - 1):
        assert len(list(batches(data + data[:cut]))) == 1
        with pytest.raises(RecordsMalformed, match="cut off"):
            list(batches(data + data[:cut], cut_allowed=False))


def test_checksums_agree() -> None:
    assert checksums.crc32c(b"123456789") == checksums.by_table(b"123456789") == 0xE3069283
    assert checksums.crc32c(memoryview(bytearray(b"123456789"))) == 0xE3069283
    assert zlib.crc32(b"123456789") == 0xCBF43926
    google = pytest.importorskip("google_crc32c")
    assert google.value(bytes(range(256))) == checksums.by_table(bytes(range(256)))
