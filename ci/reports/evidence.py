"""The lines of a proof: what each client did, in time order, as text and as bars of a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.minimise.part import CONTEXT, HistorySlice
from brokertrial.ci.reports.fault_words import worded
from brokertrial.histories.reader import History
from brokertrial.histories.rows import Batch, Event, Membership, Operation, Record
from brokertrial.histories.windows import fault_windows
from brokertrial.suites.probe.naming import shortening_of

SETTING = "setting"
FEW = 6
"""Records of one call that are listed one by one."""


@dataclass(frozen=True)
class TimelineEntry:
    """One call, batch, membership or event of a proof. `end` null: it never returned; times in ns.

    `short` is the text for a label in the picture.
    """

    lane: str
    begin: int | None
    end: int | None
    what: str
    text: str
    outcome: str = ""
    op: int | None = None
    proves: bool = False
    short: str = ""


@dataclass(frozen=True)
class TimelineFault:
    """A fault while the proof went on."""

    begin: int
    end: int
    text: str


@dataclass(frozen=True)
class EvidenceTimeline:
    """Everything that the table and the picture show; `started_ns` is where their clock starts."""

    anomaly: Anomaly
    started_ns: int
    lines: tuple[TimelineEntry, ...]
    windows: tuple[TimelineFault, ...]
    place: str = ""
    """The topic and partition that all lines are about; empty when there are several."""

    def seconds(self, at: int | None) -> str:
        """A time as the reader sees it."""
        return "" if at is None else f"{(at - self.started_ns) / 1e9:.6f}"


def evidence_timeline(history: History, anomaly: Anomaly, part: HistorySlice) -> EvidenceTimeline:
    """The lines of a part of a history, in the order of time, and the faults around them."""
    lines = [*_calls(part, anomaly), *_batches(part), *_memberships(part), *_events(part)]
    last = max((line.end or line.begin or 0 for line in lines), default=0)
    lines.sort(key=lambda line: (line.begin if line.begin is not None else last + 1, line.op or 0))
    times = [at for line in lines for at in (line.begin, line.end) if at is not None]
    windows = tuple(_faults(history, min(times), max(times))) if times else ()
    short = shortening_of(history)
    place = short(_only_place(part))
    lines = [replace(line, lane=short(line.lane), text=short(line.text), short=short(line.short)) for line in lines]
    windows = tuple(replace(window, text=short(window.text)) for window in windows)
    brief = (replace(line, short=(line.short or line.text).replace(f"{place}  ", "")) for line in lines)
    return EvidenceTimeline(anomaly, history.title.started_ns, tuple(brief) if place else tuple(lines), windows, place)


def _only_place(part: HistorySlice) -> str:
    named = {
        (getattr(row, "topic", None), getattr(row, "partition", None))
        for table in ("operations", "records", "batches", "memberships")
        for row in part.rows(table)
    }
    named = {(topic, partition) for topic, partition in named if topic is not None and partition != -1}
    return "-".join(map(str, *named)) if len(named) == 1 else ""


def _calls(part: HistorySlice, anomaly: Anomaly) -> Iterator[TimelineEntry]:
    records: dict[tuple[int, str | None, int | None], list[Record]] = {}
    for record in part.rows("records"):
        assert isinstance(record, Record)
        records.setdefault((record.op, record.topic, record.partition), []).append(record)
    for row in part.rows("operations"):
        assert isinstance(row, Operation)
        mine = records.pop((row.op, row.topic, row.partition), [])
        for (op, topic, partition), others in [*records.items()]:
            if op == row.op and partition == -1 and topic == row.topic:
                mine += others
        yield TimelineEntry(
            lane=row.client,
            begin=row.call_ns,
            end=row.return_ns,
            what=row.kind,
            text=_call(row, mine),
            short=_short(row, mine),
            outcome=row.outcome,
            op=row.op,
            proves=row.op in anomaly.operations,
        )


def _call(row: Operation, records: Sequence[Record]) -> str:
    parts = [f"{row.topic}-{row.partition}"] if row.topic is not None else []
    parts += [f"group {row.group}"] if row.group else []
    parts += [f"generation {row.generation}"] if row.generation is not None else []
    if records:
        parts.append(_records(records))
    elif row.base_offset is not None:
        parts.append(f"at offset {row.base_offset}")
    told = {
        "committed": row.committed_offset,
        "high watermark": row.high_watermark,
        "last stable": row.last_stable,
        "log start": row.log_start,
        "transaction": row.txn,
    }
    parts += [f"{name} {value}" for name, value in told.items() if value is not None]
    parts += [f"error {row.error}"] if row.error else []
    return "  ".join(parts)


def _short(row: Operation, records: Sequence[Record]) -> str:
    """The place and the records; where there are none, what was returned instead."""
    if not records:
        return _call(row, records)
    return f"{row.topic}-{row.partition}  {_records(records)}"


def _records(records: Sequence[Record]) -> str:
    shown = [_record(record) for record in sorted(records, key=lambda r: (r.position or 0, r.offset or 0))]
    more = f" and {len(shown) - FEW} more" if len(shown) > FEW else ""
    return ", ".join(shown[:FEW]) + more


def _record(record: Record) -> str:
    value = "unknown value" if record.value is None else f"value {record.value}"
    if record.offset is None:
        return value
    place = f"{value} at {record.offset}"
    jumped = record.prev_offset is not None and record.offset > record.prev_offset + 1
    return f"{place} (after {record.prev_offset})" if record.side == "seen" and jumped else place


def _batches(part: HistorySlice) -> Iterator[TimelineEntry]:
    for row in part.rows("batches"):
        assert isinstance(row, Batch)
        offsets = f"{row.base_offset}" if row.base_offset == row.last_offset else f"{row.base_offset}-{row.last_offset}"
        parts = [f"{row.topic}-{row.partition}", f"offset {offsets}"]
        if row.producer_id >= 0:
            parts.append(f"producer {row.producer_id}/{row.producer_epoch}")
        if row.control or row.base_sequence >= 0:
            parts.append(f"{row.control} marker" if row.control else f"sequence {row.base_sequence}")
        text = "  ".join(parts)
        yield TimelineEntry(
            "on the wire", row.request_ns or row.response_ns, row.response_ns, f"batch ({row.seen_at})", text
        )


def _memberships(part: HistorySlice) -> Iterator[TimelineEntry]:
    for row in part.rows("memberships"):
        assert isinstance(row, Membership)
        ended = f"  until {row.ended_by}" if row.ended_by else ""
        client = f"  as client {row.client}" if row.client not in (None, row.member) else ""
        text = f"{row.topic}-{row.partition}  group {row.group}  generation {row.generation}{ended}{client}"
        yield TimelineEntry(row.member, row.from_ns, row.until_ns, "owns", text)


def _events(part: HistorySlice) -> Iterator[TimelineEntry]:
    topics = {getattr(row, "topic", None) for table in ("operations", "batches") for row in part.rows(table)}
    for row in part.rows("events"):
        assert isinstance(row, Event)
        if row.kind == CONTEXT:
            if row.topic in topics:
                yield TimelineEntry(SETTING, None, None, row.kind, f"{row.topic}  {row.fields or ''}")
            continue
        if row.kind.startswith("window-") or row.kind == "recording":
            continue
        place = f"{row.topic}-{row.partition}" if row.partition is not None else row.topic or ""
        parts = [place, f"up to {row.offset}" if row.offset is not None else "", row.fields or ""]
        yield TimelineEntry("trial", row.at_ns, row.at_ns, row.kind, "  ".join(filter(None, parts)))


def _faults(history: History, begin: int, end: int) -> Iterator[TimelineFault]:
    """The faults that were active at any moment between these two."""
    for window in fault_windows(history.rows("events"), history.header.schedule):
        if window.begin_ns <= end and window.end_ns >= begin:
            yield TimelineFault(window.begin_ns, window.end_ns, worded(window.name))
