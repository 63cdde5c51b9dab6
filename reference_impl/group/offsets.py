"""Committed offsets: a register for each (group, topic, partition), and what open transactions have staged for them.

The log is the order: `replay` of one record after the other gives the same state at any time, also after a restart. A
transaction's offsets wait beside the register under their producer id; the marker in the offsets partition moves them
in or throws them away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group.layout import CommittedOffset, OffsetKey


@dataclass(slots=True)
class _Placed:
    offset: CommittedOffset
    log_offset: int


@dataclass(slots=True)
class Offsets:
    """All offsets of one partition of the offsets topic."""

    committed: dict[str, dict[tuple[str, int], _Placed]] = field(default_factory=dict)
    staged: dict[int, dict[OffsetKey, _Placed]] = field(default_factory=dict)
    """By producer id, for transactions that have neither committed nor aborted."""

    def replay(self, key: OffsetKey, value: CommittedOffset | None, producer_id: int, log_offset: int) -> None:
        """Applies one record of the log; a producer id of 0 or more means that it belongs to a transaction."""
        if value is None:
            self._forget(key)
        elif producer_id < 0 or bugs.on("M19a"):
            self._put(key, _Placed(value, log_offset))
        else:
            self.staged.setdefault(producer_id, {})[key] = _Placed(value, log_offset)

    def transaction_ended(self, producer_id: int, commit: bool) -> None:
        """A marker: what this producer staged comes into force, or vanishes. Of two writes the later one stays."""
        staged = self.staged.pop(producer_id, {})
        if bugs.on("D90"):
            staged = {key: placed for key, placed in staged.items() if key.group == next(iter(staged)).group}
        for key, placed in staged.items():
            if bugs.on("C01"):
                placed = _Placed(replace(placed.offset, leader_epoch=-1), placed.log_offset)
            if not commit and not bugs.on("M19c"):
                continue
            there = self.committed.get(key.group, {}).get((key.topic, key.partition))
            if there is None or there.log_offset < placed.log_offset or bugs.on("M21b"):
                self._put(key, placed)

    def get(self, group: str, topic: str, partition: int) -> CommittedOffset | None:
        placed = self.committed.get(group, {}).get((topic, partition))
        return None if placed is None else placed.offset

    def of_group(self, group: str) -> dict[tuple[str, int], CommittedOffset]:
        return {where: placed.offset for where, placed in self.committed.get(group, {}).items()}

    def unstable(self, group: str, topic: str, partition: int) -> bool:
        """True while some open transaction may still change this offset."""
        return any(OffsetKey(group, topic, partition) in staged for staged in self.staged.values())

    def has_staged(self, group: str) -> bool:
        return any(key.group == group for staged in self.staged.values() for key in staged)

    def keys_of_group(self, group: str) -> list[OffsetKey]:
        """Everything there is of a group, staged or committed: what a deletion must bury."""
        kept = {key for staged in self.staged.values() for key in staged} if bugs.on("V94") else ()
        return list(dict.fromkeys(key for key in self._keys() if key.group == group and key not in kept))

    def keys_of_topic(self, topic: str) -> list[OffsetKey]:
        goes = str.startswith if bugs.on("B181") else str.__eq__
        return list(dict.fromkeys(key for key in self._keys() if goes(key.topic, topic)))

    def _keys(self) -> Iterator[OffsetKey]:
        for group, offsets in self.committed.items():
            for topic, partition in offsets:
                yield OffsetKey(group, topic, partition)
        for staged in self.staged.values():
            yield from staged

    def _put(self, key: OffsetKey, placed: _Placed) -> None:
        self.committed.setdefault(key.group, {})[key.topic, key.partition] = placed

    def _forget(self, key: OffsetKey) -> None:
        offsets = self.committed.get(key.group)
        if offsets is not None:
            offsets.pop((key.topic, key.partition), None)
            if not offsets:
                del self.committed[key.group]
        for staged in () if bugs.on("C03") else self.staged.values():
            staged.pop(key, None)
