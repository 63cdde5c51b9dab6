"""The 61 bytes before the records of a batch, and what is raised when a batch is wrong."""

from struct import Struct as Format
from typing import NamedTuple

from brokertrial.wire import compression
from brokertrial.wire.codec import Malformed

HEADER = Format(">qiibIhiqqqhii")
HEADER_SIZE = HEADER.size
MAGIC_AT = 16
SEQUENCES = 1 << 31


class RecordsMalformed(Malformed):
    """Bytes that are no record batch; `version` is the magic, `offset` counts from the start of what was read."""

    def __init__(self, magic: int, offset: int, message: str) -> None:
        super().__init__("RecordBatch", "data", magic, offset, message)

    def __reduce__(self) -> tuple[type["RecordsMalformed"], tuple[int, int, str]]:
        return type(self), (self.version, self.offset, self.message)


class BatchHeader(NamedTuple):
    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """All bytes of the batch, this header included."""
        return self.batch_length + 12

    @property
    def codec(self) -> int:
        return self.attributes & 0x07

    @property
    def compression(self) -> str:
        return compression.NAMES.get(self.codec, f"codec {self.codec}")

    @property
    def timestamp_type(self) -> str:
        return "append" if self.attributes & 0x08 else "create"

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & 0x10)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & 0x20)

    @property
    def has_delete_horizon(self) -> bool:
        return bool(self.attributes & 0x40)

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; sequences wrap from 2^31 - 1 to 0. -1 if there is none."""
        return -1 if self.base_sequence < 0 else (self.base_sequence + self.last_offset_delta) % SEQUENCES
