"""CRC-32C (Castagnoli), the checksum of record batches: the fastest implementation that can be imported.

`crc32c` takes any buffer; `google-crc32c` wants bytes, so a view is copied first; the table is the last resort.
"""

from collections.abc import Callable
from typing import Any

POLYNOMIAL = 0x82F63B78  # reflected


def _table() -> tuple[int, ...]:
    rows = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
        rows.append(byte)
    return tuple(rows)


TABLE = _table()


def by_table(data: Any) -> int:
    """The definition, one byte at a time."""
    crc = 0xFFFFFFFF
    for byte in bytes(data):
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _best() -> tuple[str, Callable[[Any], int]]:
    try:
        from crc32c import crc32c as any_buffer

        return "crc32c", any_buffer
    except ImportError:
        pass
    try:
        import google_crc32c

        value = google_crc32c.value
        return "google-crc32c", lambda data: int(value(data if type(data) is bytes else bytes(data)))
    except ImportError:
        return "table", by_table


IMPLEMENTATION, crc32c = _best()
