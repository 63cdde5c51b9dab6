"""The minimal replays of docs/finding-time-after-deletion.md: a search by time misses records that are there.

    python -m campaigns.time_after_deletion [kafka:4.4.0]
    python -m campaigns.time_after_deletion --whole [kafka:4.4.0?set=log.retention.check.interval.ms=60000]
    python -m campaigns.time_after_deletion --compacted [kafka:4.4.0]
    python -m campaigns.time_after_deletion --emptied [kafka:4.4.0]
    python -m campaigns.time_after_deletion --newest [kafka:4.4.0]

One node, one partition. The records of the first segment that are from the time on are deleted; the next segment has
one from an hour later. ListOffsets by that time MUST name it. The record is deleted by DeleteRecords, which moves the
log start into the middle of the segment; with --whole, to its end, and the segment stays until the broker next looks
for old ones; with --compacted the cleaner deletes it. With --emptied
all records are of now, and the cleaner leaves nothing of the first segment.

With --newest the record with the newest time is deleted. ListOffsets for it MUST NOT name it any more.

Exit status: 0, the right record was named in every attempt; 1, it was not.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.targets import open_target
from brokertrial.suites.targets.base import Target
from brokertrial.wire.records import Record

ATTEMPTS, CLEANED_WITHIN_S = 3, 60
SECOND_MS, HOUR_MS, ASKED_MS = 1_000, 3_600_000, 20_000
SEGMENTS: Mapping[str, str] = {"segment.ms": "600000", "segment.bytes": "1048576", "retention.ms": "-1"}
CLEANED: Mapping[str, str] = {
    **SEGMENTS,
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.001",
    "min.compaction.lag.ms": "0",
}
LARGE = b"x" * 600_000
"""Two of them do not fit into one segment, so that the cleaner does not put two segments together."""


class Attempt:
    """A topic of its own; times are counted from its beginning."""

    at = "kafka:4.4.0"
    settings = SEGMENTS
    asked_ms, due = ASKED_MS, 2

    def __init__(self, number: int, wire: Wire) -> None:
        self.wire = wire
        self.topic = f"kept-{number}"
        self.begin = wire.now_ms() - 12 * HOUR_MS
        print(f"attempt {number}:")

    def prepare(self) -> None:
        """A late record stays behind in the first segment."""
        self.write(30 * SECOND_MS)
        self.write(0)
        self.write(HOUR_MS)
        self.delete_below(1)

    def played(self) -> bool:
        """Whether the record that is due was named."""
        self.wire.create_topic(self.topic, configs={**self.settings}).must_succeed()
        self.wire.await_topic(self.topic)
        self.prepare()
        for record in self.wire.read_all(self.topic).records:
            print(f"  there is offset {record.offset}, of {self._since(record.timestamp)}")
        return self.answered()

    def answered(self) -> bool:
        """Asks by time."""
        asked = self.begin + self.asked_ms
        named = self.wire.list_offsets(self.topic, at=asked).offset
        print(f"  asked for the first from {self._since(asked)} on, it names {named}; {self.due} is due")
        return named == self.due

    def write(self, after_ms: int, key: bytes = b"k", value: bytes = b"") -> None:
        """One record, as the only one of its batch."""
        at = self.begin + after_ms
        offset = self.wire.produce(self.topic, batch(records=[Record(key, value, (), at)])).offset
        self.say_written(offset, at)

    def say_written(self, offset: int, at: int) -> None:
        """Prints it."""
        print(f"  offset {offset} is written, of {self._since(at)}")

    def delete_below(self, offset: int) -> None:
        """DeleteRecords."""
        self.wire.delete_records(self.topic, offset=offset).must_succeed()
        print(f"  what is below offset {offset} is deleted")

    def await_cleaned(self, left: list[int]) -> None:
        """Until these offsets are what is left."""
        self.wire.until(
            lambda: [record.offset for record in self.wire.read_all(self.topic).records] == left,
            within=CLEANED_WITHIN_S,
            what="the overtaken record is gone",
        )
        print("  the log is cleaned")

    def _since(self, at: int) -> str:
        return f"{(at - self.begin) // SECOND_MS} s"


class Whole(Attempt):
    """No record is late; all of the first segment is deleted, but for its file."""

    at = "kafka:4.4.0?set=log.retention.check.interval.ms=60000"

    def prepare(self) -> None:
        self.write(0)
        self.write(30 * SECOND_MS)
        self.write(HOUR_MS)
        self.delete_below(2)


class Compacted(Attempt):
    """No record is late. The newest of the first segment is overtaken; its batch stays, empty, for its producer."""

    settings = CLEANED

    def prepare(self) -> None:
        self.write(0, b"other", LARGE)
        at = self.begin + 30 * SECOND_MS
        sent = self.wire.producer().send(self.topic, "overtaken", key=b"k", timestamp=at).must_succeed()
        self.say_written(sent.offset, at)
        self.write(HOUR_MS, b"k", LARGE)
        self.write(2 * HOUR_MS)
        self.await_cleaned([0, 2, 3])


class Emptied(Attempt):
    """All records have the time at which they are written. The only one of the first segment is overtaken, and what is
    asked for is earlier than all of them."""

    settings = CLEANED
    asked_ms, due = -ASKED_MS, 1

    def prepare(self) -> None:
        self.begin = self.wire.now_ms()
        for key in (b"k", b"k", b"other"):
            self.write(self.wire.now_ms() - self.begin, key, LARGE)
        self.await_cleaned([1, 2])


class Newest(Attempt):
    """The newest time, not a given one."""

    due = 1

    def prepare(self) -> None:
        self.write(30 * SECOND_MS)
        self.write(0)
        self.delete_below(1)

    def answered(self) -> bool:
        named = self.wire.list_offsets(self.topic, at="max-timestamp").offset
        print(f"  asked for the one with the newest time, it names {named}; {self.due} is due")
        return named == self.due


KINDS = {"--whole": Whole, "--compacted": Compacted, "--emptied": Emptied, "--newest": Newest}


def main(words: list[str]) -> int:
    """Plays it and prints what was seen; the exit status."""
    kind = next((KINDS[word] for word in words if word in KINDS), Attempt)
    text = next((word for word in words if word not in KINDS), kind.at)
    with Scratch("time") as folder, open_target(text, Path(folder)) as target:
        print(f"{text}, version {target.version()}")
        wire = _wire(target)
        right = [kind(number, wire).played() for number in range(1, ATTEMPTS + 1)]
        print(f"a wrong answer in {right.count(False)} of {ATTEMPTS}")
        return 0 if all(right) else 1


def _wire(target: Target) -> Wire:
    addresses = [(host, int(port)) for host, _, port in (one.partition(":") for one in target.bootstrap.split(","))]
    return Wire.unrecorded(CaseContext(prefix="", case=""), addresses)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
