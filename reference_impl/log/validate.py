"""Judges a client's batch before it is appended, in the order in which Kafka does.

Every record is looked at. The batch is copied once, into the bytes that will be stored.
"""

from __future__ import annotations

from dataclasses import dataclass

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log import batch as batches
from brokertrial.reference_impl.log.batch import HEADER_SIZE, OVERHEAD, Header, read_header
from brokertrial.reference_impl.log.survey import BrokenRecords, Survey, survey
from brokertrial.reference_impl.settings.config import TopicRules
from brokertrial.wire import errors, records
from brokertrial.wire.compression import NAMES, DecompressionFailed, decompress

_LARGEST_UNPACKED = 256 << 20
_MOST_RECORDS = 1 << 20  # compression packs far more into a megabyte, and every one takes a microsecond to look at


@dataclass
class Rejected(Exception):
    """A batch that must not be appended: the code, and for record-level errors which records and why."""

    error: int
    message: str
    records: tuple[tuple[int, str], ...] = ()
    shows_log_start: bool = False
    shows_message: bool = False

    def __str__(self) -> str:
        return f"{errors.name(self.error)}: {self.message}"


def _invalid(message: str, records: tuple[tuple[int, str], ...] = ()) -> Rejected:
    return Rejected(errors.INVALID_RECORD, message, records, shows_log_start=True)


def check_frame(data: memoryview | None, version: int) -> Header:
    """The header of the one v2 batch that a partition's records must be; anything else is refused."""
    if data is None or len(data) == 0:
        raise Rejected(errors.INVALID_RECORD, "no record batch")
    size = size_of_first(data)
    if size is None:
        raise Rejected(errors.INVALID_RECORD, "the record batch is cut short")
    if data[16] != 2:
        raise Rejected(errors.INVALID_RECORD, f"record batches of version {data[16]} are not accepted")
    if size < HEADER_SIZE:
        raise Rejected(errors.CORRUPT_MESSAGE, "the record batch is smaller than its own header")
    header = read_header(data)
    if version < 7 and header.codec not in NAMES:  # the look for zstd is where Kafka first reads the codec
        raise Rejected(errors.UNKNOWN_SERVER_ERROR, f"compression codec {header.codec}")
    if version < 7 and header.codec == 4 and not bugs.on("P50"):
        raise Rejected(errors.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce v7")
    if len(data) > size and size_of_first(data[size:]) is not None and not bugs.on("P55"):
        raise Rejected(errors.INVALID_RECORD, "more than one record batch")
    return header


def size_of_first(data: bytes | memoryview) -> int | None:
    """The size of the batch that begins here; None when it is not whole, as Kafka's reader sees it."""
    if len(data) < OVERHEAD:
        return None
    length = int.from_bytes(data[8:12], "big", signed=True)
    if length < 14:
        message = f"Record size {length} is less than the minimum record overhead (14)"
        raise Rejected(errors.CORRUPT_MESSAGE, message, shows_message=True)
    if len(data) < 17:
        return None
    if data[16] > 2:
        magic = data[16] - 256 if data[16] > 127 else data[16]
        raise Rejected(errors.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}", shows_message=True)
    return length + OVERHEAD if length + OVERHEAD <= len(data) else None


def validate(data: memoryview, header: Header, rules: TopicRules, now_ms: int) -> tuple[bytearray, int]:
    """The batch as it will be stored, without offset and epoch, and the append time to answer (or -1)."""
    data = data[: header.size]
    if header.base_offset != 0:
        raise _invalid(f"the batch begins at offset {header.base_offset}, not 0")
    if header.size > rules.max_message_bytes and not bugs.on("M40a"):
        raise Rejected(errors.MESSAGE_TOO_LARGE, f"{header.size} bytes, {rules.max_message_bytes} are allowed")
    if not batches.crc_matches(header, data) and not bugs.on("M31"):
        raise Rejected(errors.CORRUPT_MESSAGE, "the checksum does not match")
    if header.codec not in NAMES:
        raise Rejected(errors.UNKNOWN_SERVER_ERROR, f"compression codec {header.codec}", shows_log_start=True)
    _check_header(header)
    if header.record_count > _MOST_RECORDS:
        raise _invalid(f"{header.record_count} records in one batch, {_MOST_RECORDS} are allowed")
    found = _survey(data, header)
    _check_records(header, found, rules, now_ms)
    batch = _recompressed(data, header, rules, found)
    return batch, _stamp(batch, header, found, rules, now_ms)


def _check_header(header: Header) -> None:
    if bugs.on("M31c"):
        return
    if header.last_offset_delta < 0:
        raise _invalid(f"last offset delta {header.last_offset_delta}")
    if header.record_count <= 0:
        raise _invalid(f"{header.record_count} records")
    if header.record_count != header.last_offset_delta + 1:
        raise _invalid(f"{header.record_count} records with a last offset delta of {header.last_offset_delta}")
    if header.is_control and not bugs.on("M31d"):
        raise _invalid("clients must not write control batches")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise _invalid(f"producer id {header.producer_id} without a sequence")


def _survey(data: memoryview, header: Header) -> Survey:
    try:
        return survey(_unpacked(data, header), header.record_count)
    except BrokenRecords as error:
        raise _invalid(str(error)) from None


def _unpacked(data: memoryview, header: Header) -> bytes | memoryview:
    if header.codec == 0:
        return data[HEADER_SIZE:]
    try:
        return decompress(header.codec, data[HEADER_SIZE:], _LARGEST_UNPACKED)
    except DecompressionFailed as error:
        raise Rejected(errors.UNKNOWN_SERVER_ERROR, f"cannot unpack: {error}", shows_log_start=True) from None


def _check_records(header: Header, found: Survey, rules: TopicRules, now_ms: int) -> None:
    wrong: dict[int, str] = {}
    if rules.compacted and not bugs.on("M36d"):
        wrong |= dict.fromkeys(found.keyless, "Compacted topic cannot accept message without key")
    late = {} if bugs.on("P68") else _untimely(header, found, rules, now_ms)
    for index, message in late.items():
        wrong.setdefault(index, message)
    if not wrong:
        return
    listed = tuple(sorted(wrong.items()))
    if any(index in late and wrong[index] == late[index] for index in wrong):
        message = "One or more records have been rejected due to invalid timestamp"
        if bugs.on("P67"):
            listed = tuple((max(index - 1, 0), why) for index, why in listed)
        raise Rejected(errors.INVALID_TIMESTAMP, message, listed, shows_log_start=True)
    raise _invalid(f"One or more records have been rejected due to {len(listed)} record errors in total", listed)


def _untimely(header: Header, found: Survey, rules: TopicRules, now_ms: int) -> dict[int, str]:
    """Records whose time is out of the topic's bounds (KIP-937), or whose kind of time the producer must not set."""
    if rules.timestamp_type == "LogAppendTime":
        message = "Producer should not set timestamp type to LogAppendTime"
        return dict.fromkeys(range(header.record_count), message) if header.timestamp_type == "append" else {}
    earliest, latest = now_ms - rules.timestamp_before_max_ms, now_ms + rules.timestamp_after_max_ms
    if header.timestamp_type == "append":
        inside = header.max_timestamp == -1 or earliest <= header.max_timestamp <= latest
        times = [] if inside else [header.max_timestamp] * header.record_count
    else:
        base = header.base_timestamp
        if earliest <= base + found.smallest_delta and base + found.largest_delta <= latest:
            return {}
        times = [base + delta for delta in found.deltas]
    return {
        index: f"Timestamp {time} of message with offset {index} is out of range. "
        f"The timestamp should be within [{earliest}, {latest}]"
        for index, time in enumerate(times)
        if (time != -1 or bugs.on("B342")) and not earliest <= time <= latest
    }


def _recompressed(data: memoryview, header: Header, rules: TopicRules, found: Survey) -> bytearray:
    """The batch in the topic's own codec; the same bytes where nothing has to change."""
    codec = NAMES[header.codec]
    wanted = {"producer": codec, "uncompressed": "none"}.get(rules.compression, rules.compression)
    if wanted == codec or bugs.on("P51"):
        if codec != "none" and not found.dense:  # Kafka means to rewrite such a batch, and fails at it
            raise Rejected(errors.UNKNOWN_SERVER_ERROR, "offset deltas are not dense", shows_log_start=True)
        return bytearray(data)
    if header.producer_id >= 0 > header.producer_epoch:  # Kafka's builder refuses to write what its log would take
        raise Rejected(errors.UNKNOWN_SERVER_ERROR, "a producer id without an epoch", shows_log_start=True)
    rebuilt = records.build_batch(
        [
            records.Record(r.key, _kept(r.value), r.headers, timestamp=r.timestamp)
            for r in next(iter(records.batches(data))).records(_LARGEST_UNPACKED)
        ],
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        compression=wanted,
    )
    if len(rebuilt) > rules.max_message_bytes and not bugs.on("N27"):
        raise Rejected(errors.MESSAGE_TOO_LARGE, f"{len(rebuilt)} bytes after compression with {wanted}")
    return bytearray(rebuilt)


def _kept(value: bytes | None) -> bytes | None:
    return b"" if value is None and bugs.on("N21") else value


def _stamp(batch: bytearray, header: Header, found: Survey, rules: TopicRules, now_ms: int) -> int:
    """Makes the batch's largest timestamp and its kind what the topic wants; the append time to answer."""
    if rules.timestamp_type == "LogAppendTime" and not bugs.on("M39e"):
        batches.set_max_timestamp(batch, now_ms, log_append_time=True)
        return now_ms
    stored = read_header(batch)
    largest = max(header.base_timestamp + found.largest_delta, -1)
    if header.timestamp_type == "append":
        largest = header.max_timestamp
    if stored.timestamp_type == "append" or (stored.max_timestamp != largest and not bugs.on("N23")):
        batches.set_max_timestamp(batch, largest, log_append_time=False)
    return -1
