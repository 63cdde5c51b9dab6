"""What became of every acknowledged record when brokers died, and whose doing each loss is. Pure: a history in.

A power cut of the last in-sync replica may lose what only that disk had; nothing else may lose anything. So a loss is
explained if, and only if, one death fits it in every point:

    node 2 lost its power at 71.3 s and was the last in sync with t-1; its log had ended at 733, its disk kept 500
    t-1 offset 612, sent at 70.9 s, acknowledged at 71.1 s     -> explained
    t-1 offset 480                                             -> not explained: the disk had it still
    t-1 offset 800                                             -> not explained: node 2 had it never, somebody else had
    t-1 offset 612, sent at 71.4 s                             -> not explained: sent after the cut
    t-1 offset 612, acknowledged at 75.0 s                     -> not explained: acknowledged by node 2's next life
    t-0 offset 612                                             -> not explained: another partition
    the same after kill -9                                     -> not explained: the page cache outlives a process
    the same, node 3 in sync as well                           -> not explained: node 3 has it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.judge import Judgement, judge
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import TABLES, Event, Operation, Record

DEATH = "death"
"""The kind of event that a history has for each broker that was killed; `fields` is a Death."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One partition when a node died: as the controller knew it, and on that node's disk."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    """Just before."""
    left: tuple[int, ...]
    """Once the controller had noticed: the node is still in it only if it was the last."""
    end: int
    """Where the node's log ended."""
    kept: int
    """Where it ends after the power cut; the same as `end` after a mere kill."""


class Death(msgspec.Struct, frozen=True, kw_only=True):
    """One broker killed: when it was gone, when it was started again, what it took with it."""

    number: int
    node: int
    at_ns: int
    again_ns: int
    power_cut: bool
    partitions: tuple[Standing, ...]

    def standing(self, topic: str, partition: int) -> Standing | None:
        return next((one for one in self.partitions if (one.topic, one.partition) == (topic, partition)), None)

    def took_last(self, topic: str, partition: int) -> bool:
        """Whether the power of this partition's last in-sync replica was cut."""
        found = self.standing(topic, partition)
        return self.power_cut and found is not None and found.left == (self.node,)


@dataclass(frozen=True, slots=True)
class Loss:
    """An acknowledged record that is not there in the end; `cut` explains it, or `why_not` says what speaks against."""

    topic: str
    partition: int
    offset: int
    value: int
    op: int
    cut: Death | None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """All of it: the losses, and what our checkers say once the explained ones are owed to nobody."""

    deaths: list[Death]
    losses: list[Loss]
    judgement: Judgement
    began_ns: int

    @property
    def unexplained(self) -> list[Loss]:
        return [loss for loss in self.losses if loss.cut is None]

    @property
    def lonely(self) -> list[Death]:
        """The cuts of a last in-sync replica."""
        return [
            death for death in self.deaths if any(death.took_last(one.topic, one.partition) for one in death.partitions)
        ]

    @property
    def guilty(self) -> list[Anomaly]:
        """What is not of the client's own making, by what the wire shows.

        librdkafka, for one, may send a record again under a new producer epoch although it was stored: its issue 4953.
        """
        return [anomaly for anomaly in self.judgement.anomalies if anomaly.attribution != "client"]

    @property
    def bad(self) -> bool:
        """Something is wrong that no cut of a last in-sync replica explains, and no client."""
        return bool(self.unexplained or self.guilty or self.judgement.inconclusive)


def find(folder: Path, scratch: Path) -> Findings:
    """Judges a history; for the checkers, in a copy at `scratch`, explained losses are owed to nobody."""
    history = History.open(folder)
    deaths = [
        msgspec.json.decode(event.fields, type=Death)
        for event in history.rows("events")
        if isinstance(event, Event) and event.kind == DEATH and event.fields
    ]
    sends = list(_sends(history))
    lost = losses(sends, _seen(history), deaths)
    excused = {loss.op for loss in lost if loss.cut is not None}
    judged = _without(history, excused, scratch) if excused else history
    return Findings(deaths, lost, judge(judged), min((sent.call_ns for _, sent in sends), default=0))


Send = tuple[Record, Operation]


def losses(sends: Iterable[Send], seen: set[tuple[str, int, int]], deaths: list[Death]) -> list[Loss]:
    """Every acknowledged record that no reader saw (`seen`: topic, partition, value), and what explains it."""
    found = []
    for record, sent in sends:
        where = (record.topic, record.partition, record.value)
        if record.outcome == "ok" and record.offset is not None and record.value is not None and where not in seen:
            cut, why_not = _explained(record, sent, deaths)
            found.append(Loss(record.topic, record.partition, record.offset, record.value, record.op, cut, why_not))
    return found


def _explained(record: Record, sent: Operation, deaths: list[Death]) -> tuple[Death | None, str]:
    lonely = [death for death in deaths if death.took_last(record.topic, record.partition)]
    if not lonely:
        return None, f"the power of the last in-sync replica of {record.topic}-{record.partition} was never cut"
    reasons = [_against(record, sent, death) for death in lonely]
    if None in reasons:
        return lonely[reasons.index(None)], ""
    return None, "; ".join(f"kill {death.number}: {why}" for death, why in zip(lonely, reasons, strict=True))


def _against(record: Record, sent: Operation, death: Death) -> str | None:
    """What speaks against this cut as the cause; None if nothing does."""
    standing = death.standing(record.topic, record.partition)
    assert standing is not None and record.offset is not None
    if sent.call_ns >= death.at_ns:
        return "the record was sent after the cut"
    if sent.return_ns is None or sent.return_ns >= death.again_ns:
        return f"it was acknowledged when node {death.node} ran again"
    if record.offset < standing.kept:
        return f"the disk of node {death.node} kept everything below {standing.kept}"
    if record.offset >= standing.end:
        return f"the log of node {death.node} ended at {standing.end}: it never had that record"
    return None


def _sends(history: History) -> Iterator[Send]:
    operations = {
        one.op: one
        for one in history.rows("operations")
        if isinstance(one, Operation) and one.kind == "send" and one.txn is None
    }
    for record in history.rows("records"):
        if isinstance(record, Record) and record.side == "sent" and record.op in operations:
            yield record, operations[record.op]


def _seen(history: History) -> set[tuple[str, int, int]]:
    return {
        (record.topic, record.partition, record.value)
        for record in history.rows("records")
        if isinstance(record, Record) and record.side == "seen" and record.value is not None
    }


def _without(history: History, excused: set[int], folder: Path) -> History:
    """The same history, but of these sends it is not known what came of them."""
    with Recorder.create(folder, history.header) as recorder:
        for table in TABLES:
            for row in history.rows(table):
                if isinstance(row, Operation) and row.op in excused:
                    row.outcome, row.base_offset = "info", None
                if isinstance(row, Record) and row.op in excused:
                    row.outcome, row.offset = "info", None
                recorder.add(row)
    return History.open(folder)
