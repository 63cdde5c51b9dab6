"""Our own JSON Lines format as a history: any harness can write one (docs/formats.md)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from brokertrial.histories.formats import jsonl_lines as lines
from brokertrial.histories.formats.legend import Legend
from brokertrial.histories.formats.problem import BadFile
from brokertrial.histories.header import Header
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Event, Membership, Operation, Record, Row

ClientPartition = tuple[str, str, int]
_TXN_KINDS = (lines.BeginLine, lines.CommitTxnLine, lines.AbortTxnLine)


class _Stream:
    """One stream of a client in a partition: where it is."""

    __slots__ = ("last", "number", "place")

    def __init__(self, number: int, start: int | None) -> None:
        self.number = number
        self.place = 0
        self.last = None if start is None or start < 0 else start - 1


class Jsonl:
    """Reads one file; operations are named by their lines."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.legend = Legend(keyed=False)
        self.header = Header(case="jsonl", target=file.name)
        self._clients: set[str] = set()
        self._streams: dict[ClientPartition, _Stream] = {}
        self._begun = 0
        self._sent: dict[ClientPartition, int] = {}
        self._number = 0

    def rows(self) -> Iterator[Row]:
        """Every row that the file tells, in its order; raises BadFile."""
        decoder = msgspec.json.Decoder(lines.HistoryFileLine)
        for number, text in enumerate(self._texts(), start=1):
            self._number = number
            if text.isspace():
                continue
            try:
                line = decoder.decode(text)
            except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
                raise self._bad(str(problem).replace("`", "")) from None
            yield from self._rows(line)

    def _texts(self) -> Iterator[bytes]:
        try:
            with self.file.open("rb") as content:
                yield from content
        except OSError as problem:
            raise BadFile(f"{self.file} cannot be read: {problem.strerror}.") from problem

    def _rows(self, line: lines.HistoryFileLine) -> Iterator[Row]:
        if isinstance(line, lines.HistoryLine):
            self._title(line)
        elif isinstance(line, lines.ClientLine):
            yield self._client(line)
        elif isinstance(line, lines.TopicLine):
            settings = {name: value for name, value in msgspec.structs.asdict(line).items() if value is not None}
            yield Event(kind="topic", at_ns=0, topic=line.topic, fields=msgspec.json.encode(settings).decode())
        elif isinstance(line, lines.MembershipLine):
            told = msgspec.structs.asdict(line)
            yield Membership(from_ns=told.pop("from_"), until_ns=told.pop("until"), **told)
        elif isinstance(line, lines.FinalReadLine):
            kind = "final-read-committed" if line.isolation == "read_committed" else "final-read"
            yield Event(kind=kind, at_ns=line.at, topic=line.topic, partition=line.partition, offset=line.offset)
        elif isinstance(line, lines.FaultLine):
            yield Event(kind="window-begin", at_ns=line.begin, window=line.window)
            if line.end is not None:
                yield Event(kind="window-end", at_ns=line.end, window=line.window)
        else:
            yield from self._call(line)

    def _title(self, line: lines.HistoryLine) -> None:
        if self._clients or self._streams:
            raise self._bad("a history line must come first")
        self.header.nodes = line.nodes
        self.header.unclean_election = line.unclean_election
        self.header.target = line.target or self.header.target

    def _client(self, line: lines.ClientLine) -> Client:
        if line.client in self._clients:
            raise self._bad(f"the client {line.client!r} was described before")
        self._clients.add(line.client)
        return Client(**msgspec.structs.asdict(line) | {"acks": -1 if line.acks == "all" else line.acks})

    def _call(self, line: lines.JsonCall) -> Iterator[Row]:
        if line.client not in self._clients:
            raise self._bad(f"nothing is said of the client {line.client!r} yet: its client line must come before")
        if line.return_ is not None and line.return_ < line.call:
            raise self._bad(f"it returned at {line.return_}, before it was called at {line.call}")
        if isinstance(line, _TXN_KINDS) and line.txn is None:
            raise self._bad("the end or the beginning of a transaction must tell its txn")
        if isinstance(line, lines.SendLine):
            yield from self._send(line)
        elif isinstance(line, lines.PollLine):
            yield from self._poll(line)
        elif isinstance(line, (lines.CommitLine, lines.CommittedLine)):
            for place in line.offsets:
                yield self._operation(
                    line, place.topic, place.partition, group=line.group, committed_offset=place.offset,
                    commit_id=line.id,
                )  # fmt: skip
        elif isinstance(line, lines.ListOffsetsLine):
            told = {"log_start": line.earliest, "high_watermark": line.latest, "last_stable": line.last_stable}
            yield self._operation(line, line.topic, line.partition, **told)
        elif isinstance(line, lines.DeleteRecordsLine):
            yield self._operation(line, line.topic, line.partition, base_offset=line.before, log_start=line.log_start)
        else:
            yield from self._moved(line)

    def _moved(self, line: lines.JsonCall) -> Iterator[Row]:
        places = getattr(line, "partitions", [])
        if isinstance(line, (lines.AssignLine, lines.SubscribeLine)):
            for spot in [spot for spot in self._streams if spot[0] == line.client]:
                del self._streams[spot]
        for place in places:
            spot = (line.client, place.topic, place.partition)
            self._streams.pop(spot, None)
            if not isinstance(line, lines.RevokedLine):
                self._begin(spot, place.offset)
            yield self._operation(line, place.topic, place.partition)
        if not places:
            yield self._operation(line, None, None)

    def _begin(self, spot: ClientPartition, start: int | None) -> _Stream:
        self._begun += 1
        stream = self._streams[spot] = _Stream(self._begun, start)
        return stream

    def _send(self, line: lines.SendLine) -> Iterator[Row]:
        spot = (line.client, line.topic, line.partition)
        told = [record.offset for record in line.records if record.offset is not None]
        base = min(told, default=None)
        yield self._operation(line, line.topic, line.partition, base_offset=base, count=len(line.records))
        for record in line.records:
            position = self._sent[spot] = self._sent.get(spot, -1) + 1
            source = record.derived_from
            yield Record(
                op=self._number,
                client=line.client,
                topic=line.topic,
                partition=line.partition,
                offset=record.offset,
                value=self.legend.value(0, record.value),
                side="sent",
                position=position,
                derived_from=None if source is None else self.legend.value(0, source),
                outcome=line.outcome,
                txn=line.txn,
            )

    def _poll(self, line: lines.PollLine) -> Iterator[Row]:
        places = dict.fromkeys((record.topic, record.partition) for record in line.records)
        for topic, partition in places:
            yield self._operation(line, topic, partition)
        if not places:
            yield self._operation(line, None, None)
        for record in line.records:
            spot = (line.client, record.topic, record.partition)
            stream = self._streams.get(spot) or self._begin(spot, None)
            yield Record(
                op=self._number,
                client=line.client,
                topic=record.topic,
                partition=record.partition,
                offset=record.offset,
                value=None if record.value is None else self.legend.value(0, record.value),
                intact=record.intact,
                side="seen",
                stream=stream.number,
                position=stream.place,
                prev_offset=stream.last,
                leader_epoch=record.leader_epoch,
                outcome=line.outcome,
                txn=line.txn,
            )
            stream.place, stream.last = stream.place + 1, record.offset

    def _operation(self, line: lines.JsonCall, topic: str | None, partition: int | None, **more: Any) -> Operation:
        return Operation(
            op=self._number,
            client=line.client,
            kind=str(line.__struct_config__.tag),
            topic=topic,
            partition=partition,
            node=line.node,
            call_ns=line.call,
            return_ns=line.return_,
            outcome=line.outcome,
            error=line.error,
            txn=line.txn,
            **more,
        )

    def _bad(self, what: str) -> BadFile:
        return BadFile.at(self.file, self._number, what)


def import_jsonl(file: Path, folder: Path) -> Jsonl:
    """Writes what the file tells as a history into an empty folder; raises BadFile, HistoryWriteFailed."""
    reader = Jsonl(file)
    with Recorder.create(folder, reader.header) as recorder:
        for row in reader.rows():
            recorder.add(row)
    return reader
