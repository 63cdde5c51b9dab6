"""A partition: its log is read once as a whole, and every other question about it must be answered accordingly.

Asked are both ends at both isolations, the first and last offset of a few batches, a few times, the newest epochs, and
the producers. Not judged: gaps in a log that may be compacted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from brokertrial.suites.closing_look.log_model import LastOf, LogModel, last_of_producers
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.fetch import COMMITTED, ReadLog
from brokertrial.suites.probe.list_offsets import Listed
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire import errors

T = TypeVar("T")

VIA = "closing-look"
MOST_RECORDS = 20_000
"""A longer log is looked at by its ends alone."""
MOST = 4
"""Offsets, times and epochs of each kind that are asked about."""
OUT_OF_RANGE = errors.OFFSET_OUT_OF_RANGE


class PartitionLook:
    """One partition, once. Raises what is false."""

    def __init__(self, wire: Wire, topic: str, partition: int, compacted: bool) -> None:
        self._wire = wire
        self._place = topic, partition
        self._compacted = compacted

    @breaks("fetch-015")
    def judge(self) -> None:
        """All questions; the first answer that does not fit is raised."""
        earliest, latest, stable = self._ends()
        if latest.offset - earliest.offset > MOST_RECORDS:
            return
        log = self._wire.read_all(*self._place, via=VIA)
        model = LogModel(log.batches, earliest.offset, latest.offset)
        self._judge_log(model, log, latest, stable)
        if model.batches:
            self._judge_positions(model)
            if self._wire.situation.asks_times:
                self._judge_times(model)
            self._judge_epochs(model)
            self._judge_producers(model)

    @breaks("offs-001")
    def _ends(self) -> tuple[Listed, Listed, Listed]:
        wire = self._wire
        earliest = wire.list_offsets(*self._place, at="earliest", via=VIA).must_succeed()
        latest = wire.list_offsets(*self._place, via=VIA).must_succeed()
        stable = wire.list_offsets(*self._place, isolation=COMMITTED, via=VIA).must_succeed()
        with breaks("txn-004"):
            wire.must(
                earliest.offset <= stable.offset <= latest.offset,
                f"{self._name} begins at {earliest.offset}, is stable up to {stable.offset} and ends at "
                f"{latest.offset}",
                earliest,
                stable,
                latest,
            )
        return earliest, latest, stable

    @property
    def _name(self) -> str:
        return f"{self._place[0]}-{self._place[1]}"

    # the log

    def _judge_log(self, model: LogModel, log: ReadLog, latest: Listed, stable: Listed) -> None:
        if not self._compacted:
            self._judge_density(model, log, latest)
        with breaks("rec-005"):
            for batch in model.batches:
                log.must(batch.crc_ok(), f"the checksum of the batch at offset {batch.header.base_offset} is wrong")
        expected = min(model.open_since if model.open_since is not None else model.end, model.end)
        with breaks("txn-004"):
            self._wire.must(
                stable.offset == max(expected, model.start),
                f"{self._name} is stable up to {stable.offset}; by its log it must be {max(expected, model.start)}",
                stable,
                *log.answers[-2:],
            )
        committed = self._wire.read_all(*self._place, isolation=COMMITTED, via=VIA)
        committed.must_have_offsets(model.committed(stable.offset))

    def _judge_density(self, model: LogModel, log: ReadLog, latest: Listed) -> None:
        """No offset is missing, and none lies behind the end."""
        if (gap := model.gap()) is not None:
            with breaks("ord-004"):
                log.must(False, _gap(*gap))
        if (last := model.beyond_the_end) is not None:
            ends = f"ListOffsets v{latest.version}: it ends {self._name} at {model.end}, before the log does"
            with breaks("offs-001"):
                self._wire.must(False, f"{ends}: a Fetch brings offset {last}", latest, log.answers[-1])

    def _judge_positions(self, model: LogModel) -> None:
        """A Fetch begins with the batch that holds its offset; outside of the log it is refused."""
        wire = self._wire
        for offset in self._positions(model):
            answer = wire.fetch(*self._place, offset=offset, max_wait_ms=500, via=VIA)
            answer.must_succeed().must_reach(offset) if not self._compacted else answer.must_succeed()
            ends = (answer.high_watermark, answer.log_start_offset)
            answer.must(
                ends == (model.end, model.start) or answer.version < 5,
                f"high watermark and log start are {ends}; ListOffsets names {(model.end, model.start)}",
                f"{answer.row}.high_watermark",
                f"{answer.row}.log_start_offset",
            )
        wire.fetch(*self._place, offset=model.end + 1_000, via=VIA).must_be_refused(OUT_OF_RANGE)
        if model.start > 0:
            wire.fetch(*self._place, offset=model.start - 1, via=VIA).must_be_refused(OUT_OF_RANGE)

    def _positions(self, model: LogModel) -> list[int]:
        held = _few([batch.header for batch in model.batches])
        offsets = dict.fromkeys(offset for header in held for offset in (header.base_offset, header.last_offset))
        return [offset for offset in offsets if model.start <= offset < model.end]

    # times and epochs

    @breaks("offs-002")
    def _judge_times(self, model: LogModel) -> None:
        wire = self._wire
        times = sorted({record.timestamp for record in model.records(control=True) if record.timestamp >= 0})
        for time in [*_few(times), *(last + 1 for last in times[-1:])]:
            answer = wire.list_offsets(*self._place, at=time, via=VIA).must_succeed()
            wanted = model.offsets_at(time)
            answer.must(
                answer.offset in wanted,
                f"for time {time} it names offset {answer.offset}; by the log it must be {_one_of(wanted)}",
                "topics[0].partitions[0].offset",
            )

    @breaks("repl-008")
    def _judge_epochs(self, model: LogModel) -> None:
        if not self._wire.versions("OffsetForLeaderEpoch"):
            return
        epochs = sorted({batch.header.leader_epoch for batch in model.batches if batch.header.leader_epoch >= 0})
        for epoch in epochs[-MOST:]:
            answer = self._wire.offset_for_leader_epoch(*self._place, epoch=epoch).must_succeed()
            row = answer.struct.topics[0].partitions[0]
            wanted = model.epoch_end(epoch)
            lowest = model.epoch_end_at_least(epoch) if self._compacted else wanted
            found = getattr(row, "leader_epoch", epoch), row.end_offset
            answer.must(
                found[0] == epoch and lowest <= found[1] <= wanted,
                f"epoch {epoch} ends at (epoch, offset) {found}; by the log it must be {(epoch, wanted)}",
                "topics[0].partitions[0].end_offset",
            )

    # producers

    @breaks("txn-026")
    def _judge_producers(self, model: LogModel) -> None:
        """Every producer whose last batch is in the log is known with it (KIP-664)."""
        if not self._wire.versions("DescribeProducers"):
            return
        answer = self._wire.describe_producers(*self._place, via=VIA).must_succeed()
        rows = {row.producer_id: row for row in answer.struct.topics[0].partitions[0].active_producers}
        for producer, last in last_of_producers(model).items():
            if last.is_marker or (last.sequence < 0 and producer not in rows):
                continue
            row = rows.get(producer)
            found = None if row is None else LastOf(row.producer_epoch, row.last_sequence, False)
            answer.must(
                found == last,
                f"producer {producer} is shown with {_told(found)}; its last batch in the log has {_told(last)}",
                "topics[0].partitions[0].active_producers",
            )


def _gap(expected: int, found: int) -> str:
    """What is wrong where `expected` would come next, and `found` does."""
    if found > expected:
        return f"there is nothing between offset {expected} and offset {found}"
    return f"behind offset {expected - 1} the log goes on at offset {found}"


def _few(found: Sequence[T]) -> list[T]:
    """At most MOST of them, the first and the last among them."""
    step = max(1, len(found) // MOST)
    return [*found[:-1:step][: MOST - 1], *found[-1:]]


def _one_of(offsets: set[int]) -> str:
    return " or ".join(map(str, sorted(offsets)))


def _told(last: LastOf | None) -> str:
    return "nothing" if last is None else f"epoch {last.epoch} and sequence {last.sequence}"
