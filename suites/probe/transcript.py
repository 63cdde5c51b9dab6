"""The tape in a history: requests and answers as `exchanges`, looks at ZooKeeper as `zookeeper`, and everything else
that a case learnt as `probe` events."""

from __future__ import annotations

import msgspec

from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Event, Exchange, ZooKeeperNode
from brokertrial.suites.probe.exchanger import TranscriptEntry
from brokertrial.suites.probe.znode import znode_row, znode_text

KIND = "probe"


class _Note(msgspec.Struct):
    entry: str
    connection: str = ""
    number: int = -1
    api: str = ""
    version: int = -1
    text: str = ""


class TranscriptWriter:
    """Hands each entry to the recorder; a request waits here for its answer, so that both are one row."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._numbers: dict[str, int] = {}
        self._waiting: list[Exchange] = []

    def __call__(self, entry: TranscriptEntry) -> None:
        if entry.kind == "request":
            self._waiting.append(self._asked(entry))
        elif entry.kind == "answer":
            self._recorder.add(self._answered(entry))
        elif entry.kind == "znode":
            self._recorder.add(znode_row(entry.text, entry.ns))
        else:
            if entry.kind in ("closed", "close", "refused"):
                self._give_up(self._number(entry.connection), entry.text or entry.kind)
            self._note(entry)

    def close(self) -> None:
        """Writes the requests that never got an answer."""
        for row in self._waiting:
            self._recorder.add(row)
        self._waiting.clear()

    def _number(self, connection: str) -> int:
        return self._numbers.setdefault(connection, len(self._numbers))

    def _asked(self, entry: TranscriptEntry) -> Exchange:
        correlation = int.from_bytes(entry.data[8:12], "big", signed=True) if len(entry.data) >= 12 else None
        return Exchange(
            op=self._recorder.next_op(),
            client=entry.connection,
            connection=self._number(entry.connection),
            correlation_id=correlation,
            node=entry.node,
            api=entry.api,
            version=entry.version,
            request=entry.data,
            call_ns=entry.ns,
        )

    def _answered(self, entry: TranscriptEntry) -> Exchange:
        """The row of the request that this answers: by correlation id, which may well be wrong."""
        number = self._number(entry.connection)
        correlation = int.from_bytes(entry.data[:4], "big", signed=True)
        mine = [row for row in self._waiting if row.connection == number]
        for row in mine:
            if row.correlation_id == correlation:
                self._waiting.remove(row)
                return msgspec.structs.replace(row, response=entry.data, return_ns=entry.ns)
        return Exchange(
            op=self._recorder.next_op(),
            client=entry.connection,
            connection=number,
            correlation_id=correlation,
            node=entry.node,
            api=entry.api,
            version=entry.version,
            request=b"",
            response=entry.data,
            call_ns=entry.ns,
            return_ns=entry.ns,
            error="answers no request",
        )

    def _give_up(self, number: int, why: str) -> None:
        for row in [row for row in self._waiting if row.connection == number]:
            self._waiting.remove(row)
            self._recorder.add(msgspec.structs.replace(row, error=why))

    def _note(self, entry: TranscriptEntry) -> None:
        note = _Note(entry.kind, entry.connection, self._number(entry.connection), entry.api, entry.version, entry.text)
        self._recorder.add(Event(kind=KIND, at_ns=entry.ns, node=entry.node, fields=msgspec.json.encode(note).decode()))


def read_transcript(history: History) -> list[TranscriptEntry]:
    """The tape of a stored case, in the order in which things happened."""
    tape: list[TranscriptEntry] = []
    for row in history.rows("exchanges"):
        assert isinstance(row, Exchange)
        name, node = row.client or "", -1 if row.node is None else row.node
        if row.request:
            tape.append(
                TranscriptEntry("request", name, node, row.api, row.version, bytes(row.request), "", row.call_ns)
            )
        if row.response is not None and row.return_ns is not None:
            tape.append(
                TranscriptEntry("answer", name, node, row.api, row.version, bytes(row.response), "", row.return_ns)
            )
    for seen in history.rows("zookeeper"):
        assert isinstance(seen, ZooKeeperNode)
        tape.append(TranscriptEntry("znode", seen.path, text=znode_text(seen), ns=seen.at_ns))
    for event in history.rows("events"):
        assert isinstance(event, Event)
        if event.kind == KIND and event.fields is not None:
            note = msgspec.json.decode(event.fields, type=_Note)
            node = -1 if event.node is None else event.node
            tape.append(
                TranscriptEntry(note.entry, note.connection, node, note.api, note.version, b"", note.text, event.at_ns)
            )
    return sorted(tape, key=lambda entry: entry.ns)
