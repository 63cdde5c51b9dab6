"""Where Java puts a string: which partition of an internal topic a group or a transactional id belongs to."""

from __future__ import annotations


def java_hash(text: str) -> int:
    """`String.hashCode` of Java, over UTF-16 units, as a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (value * 31 + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def partition_for(name: str, partitions: int) -> int:
    """Kafka's choice: abs(hash) modulo the number of partitions, where abs of the smallest number is 0."""
    value = java_hash(name)
    return (0 if value == -(1 << 31) else abs(value)) % partitions


def bucket(text: str) -> int:
    """Where a Java HashMap of up to twelve entries keeps this key: the order in which it is gone through."""
    value = java_hash(text) & 0xFFFFFFFF
    return (value ^ value >> 16) & 15
