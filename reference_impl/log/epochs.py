"""Which leader wrote which offsets (KIP-101), and what fetch and truncation ask of it."""

from __future__ import annotations

import logging
from pathlib import Path

from brokertrial.reference_impl import bugs

UNKNOWN = (-1, -1)
log = logging.getLogger("epochs")


class LeaderEpochs:
    """The epochs of one partition in ascending order; the file beside the log is rewritten when they change."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._entries: list[tuple[int, int]] = []
        if path is not None and path.exists():
            lines = path.read_text("ascii").split("\n")
            self._entries = [(int(e), int(o)) for e, o in (line.split() for line in lines if line)]

    def assign(self, epoch: int, start_offset: int) -> None:
        """A leader of this epoch writes from this offset on; entries that it makes impossible go."""
        if self._entries and self._entries[-1][0] >= epoch:
            return
        kept = [entry for entry in self._entries if entry[1] < start_offset]
        self._entries = [*kept, (epoch, start_offset)][-16 if bugs.on("B360") else 0 :]
        self._save()

    def pass_over(self, known: int) -> None:
        """Only with B96: of the epochs after this one the newest is left."""
        self._replace([entry for entry in self._entries if entry[0] <= known or entry is self._entries[-1]])

    def truncate_end(self, end_offset: int) -> None:
        """The log now ends here."""
        self._replace([entry for entry in self._entries if entry[1] < end_offset])

    def truncate_start(self, start_offset: int) -> None:
        """The log now starts here; the epoch that holds this offset starts here too."""
        before = [entry for entry in self._entries if entry[1] <= start_offset]
        after = [entry for entry in self._entries if entry[1] > start_offset]
        self._replace(([(before[-1][0], start_offset)] if before else []) + after)

    def latest(self) -> int | None:
        return self._entries[-1][0] if self._entries else None

    def earliest(self, log_start: int) -> int | None:
        """The epoch of the log's first offset, if it is known."""
        if log_start and bugs.on("L05"):
            return None
        return self._entries[0][0] if self._entries and self._entries[0][1] <= log_start else None

    def of_offset(self, offset: int) -> int | None:
        """The epoch in which this offset was written."""
        known = [epoch for epoch, start in self._entries if start <= offset]
        return known[-1] if known else None

    def end_offset(self, epoch: int, log_end: int) -> tuple[int, int]:
        """The largest epoch up to this one, and where it ends; (-1, -1) when there is none to speak of."""
        if epoch < 0 or not self._entries:
            return UNKNOWN
        if epoch == self._entries[-1][0] or bugs.on("M32b"):
            return self._entries[-1][0], log_end
        later = [entry for entry in self._entries if entry[0] > epoch]
        if not later or (len(later) == len(self._entries) and bugs.on("B86")):
            return UNKNOWN
        floor = [entry for entry in self._entries if entry[0] <= epoch]
        return (floor[-1][0] if floor else epoch), later[0][1]

    def _replace(self, entries: list[tuple[int, int]]) -> None:
        if entries != self._entries:
            self._entries = entries
            self._save()

    def _save(self) -> None:
        """A file that cannot be brought up to date is removed: recovery reads the epochs off the batches then."""
        if self._path is None or not self._path.parent.exists():
            return
        temporary = self._path.with_suffix(".new")
        try:
            temporary.write_text("".join(f"{epoch} {start}\n" for epoch, start in self._entries), "ascii")
            temporary.replace(self._path)
        except OSError as error:
            log.warning("%s cannot be written: %s", self._path, error)
            temporary.unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)
