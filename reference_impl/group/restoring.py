"""What the records of one partition of the offsets topic add up to: groups of both kinds, and committed offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group import consumer_layout, layout
from brokertrial.reference_impl.group.classic import ClassicGroup, restored
from brokertrial.reference_impl.group.consumer import ConsumerGroup
from brokertrial.reference_impl.group.consumer_layout import GROUP, ConsumerKey
from brokertrial.reference_impl.group.layout import GroupKey, OffsetKey
from brokertrial.reference_impl.group.offsets import Offsets
from brokertrial.wire.records import Batch, Record

Groups = dict[str, ClassicGroup | ConsumerGroup]
_READ_LIMIT = 1 << 30


class Restored:
    """State that grows record by record; nobody is asked about it before it is whole."""

    def __init__(self) -> None:
        self.groups: Groups = {}
        self.offsets = Offsets()
        self._removed: set[str] = set()
        """Classic groups whose last record is a tombstone."""
        self._once_removed: set[str] = set()
        """Those that had one at some time."""
        self._keys: dict[bytes, ConsumerKey | OffsetKey | GroupKey | None] = {}  # most keys come again and again

    def replay(self, log: Iterable[Batch]) -> Iterator[None]:
        """Applies batch after batch, and yields after every record."""
        for batch in log:
            header = batch.header
            if header.is_control and header.record_count:
                self.offsets.transaction_ended(header.producer_id, batch.marker().kind == "COMMIT")
                yield
                continue
            producer_id = header.producer_id if header.is_transactional else -1
            for record in batch.records(_READ_LIMIT):
                self._apply(record, producer_id)
                yield
        for group_id in self._once_removed if bugs.on("B251") else ():
            if isinstance(self.groups.get(group_id), ClassicGroup):
                del self.groups[group_id]
        if bugs.on("M19b"):
            self.offsets.staged.clear()
        if bugs.on("V85") and any(self.offsets.of_group(group) for group in self._removed):
            raise ValueError("a group that was removed has offsets")

    def _apply(self, record: Record, producer_id: int) -> None:
        key, value = self._key(bytes(record.key or b"")), None if record.value is None else bytes(record.value)
        if isinstance(key, ConsumerKey):
            self._consumer_group(key, value)
        elif isinstance(key, OffsetKey):
            self._offset(key, value, producer_id, record.offset)
        elif key is not None:
            self._classic_group(key.group, value, record.timestamp)

    def _key(self, raw: bytes) -> ConsumerKey | OffsetKey | GroupKey | None:
        if raw not in self._keys:
            self._keys[raw] = consumer_layout.read_key(raw) or layout.read_key(raw)
        return self._keys[raw]

    def _offset(self, key: OffsetKey, value: bytes | None, producer_id: int, offset: int) -> None:
        if self.offsets.get(key.group, key.topic, key.partition) is not None and bugs.on("M21"):
            return
        found = None if value is None else layout.read_offset(value)
        if found is not None and found.metadata and not found.metadata.isascii() and bugs.on("C02"):
            found = replace(found, metadata="")
        if found is None and bugs.on("C04"):
            self.offsets.committed.get(key.group, {}).pop((key.topic, key.partition), None)
            return
        self.offsets.replay(key, found, producer_id, offset)
        if value is not None and not (producer_id >= 0 and bugs.on("W11")):
            self.groups.setdefault(key.group, ClassicGroup(key.group))

    def _classic_group(self, group_id: str, value: bytes | None, timestamp: int) -> None:
        (self._removed.add if value is None else self._removed.discard)(group_id)
        if value is None:
            self._once_removed.add(group_id)
        if value is not None:
            group = self.groups[group_id] = restored(layout.read_group(group_id, value))
            if not bugs.on("W12"):
                group.since_ms = timestamp
        elif isinstance(self.groups.get(group_id), ClassicGroup):
            del self.groups[group_id]

    def _consumer_group(self, key: ConsumerKey, value: bytes | None) -> None:
        if bugs.on("M24g"):
            return
        if key.kind == GROUP and value is None:
            self.groups.pop(key.group, None)
            return
        group = self.groups.get(key.group)
        if not isinstance(group, ConsumerGroup):
            if value is None:
                if bugs.on("Z33"):
                    raise ValueError(f"there is no group {key.group}")
                return
            group = self.groups[key.group] = ConsumerGroup(key.group)
        consumer_layout.replay(group, key, value)
