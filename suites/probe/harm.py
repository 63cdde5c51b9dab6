"""Whether a record was harmed in a wire case, whatever the case is about: read off its exchanges alone.

    Produce "a"  -> offset 0                    acknowledged by all
    Produce "b"  -> offset 1                    acknowledged by all
    Fetch from 0 -> 0 "a", 2 "c"                lost: what lies around offset 1 was read, and "b" nowhere

Lost: acknowledged with acks=all, and passed by, or above the end that a Fetch returned last: what ListOffsets says of
it may be wrong by itself. Altered: at its offset lies another record, and it lies nowhere else. Doubled: a batch of an
idempotent producer at two places, or a record more often than it was sent. Reordered: batches of one producer against
their sequences. Aborted: read_committed showed one of a transaction whose abort was acknowledged. Topics that are
compacted or deleted in the case prove nothing, nor do those that coordinators write: each TxnOffsetCommit is a batch of
sequence 0 there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.result import Evidence, Failure
from brokertrial.wire.records import Batch, Record, RecordsMalformed, batches

Log = tuple[Any, int]
Content = tuple[Any, ...]
ALL_REPLICAS, READ_COMMITTED, COMPACT = -1, 1, "compact"
OF_COORDINATORS = ("__consumer_offsets", "__transaction_state", "__share_group_state")
HALF_OF_ALL_SEQUENCES = 1 << 30


class Written(NamedTuple):
    """A record that was acknowledged, and by which exchange."""

    content: Content
    asked: PendingExchange


class FetchedRecord(NamedTuple):
    """A record, and the first Fetch that brought it."""

    content: Content
    asked: PendingExchange


class StoredBatch(NamedTuple):
    """A batch as a Fetch brought it."""

    batch: Batch
    contents: tuple[Content, ...]
    asked: PendingExchange


class Ledger:
    """What the exchanges of one case say of its records."""

    def __init__(self, exchanges: Iterable[PendingExchange], ids: Mapping[str, Any]) -> None:
        self._ids = ids
        self.written: dict[Log, dict[int, Written]] = defaultdict(dict)
        self.sent: Counter[tuple[Log, Content]] = Counter()
        self.unreadable = False
        """Something was sent that is no batch: how often a record was sent is not known."""
        self.stored: dict[Log, dict[int, StoredBatch]] = defaultdict(dict)
        self.seen: dict[Log, dict[int, list[FetchedRecord]]] = defaultdict(lambda: defaultdict(list))
        """By offset; a broker may give one to several."""
        self.passed: dict[Log, list[tuple[int, int, PendingExchange]]] = defaultdict(list)
        """From, to: a Fetch brought what lies there."""
        self.ends: dict[Log, tuple[int, PendingExchange]] = {}
        self.left_out: set[Any] = {ids.get(name, name) for name in OF_COORDINATORS} | set(OF_COORDINATORS)
        self._deleted: set[Any] = set()
        self._shown_though_aborted: list[tuple[Log, int, PendingExchange, PendingExchange]] = []
        self._open: dict[str, set[tuple[Log, int]]] = defaultdict(set)
        self._aborted: dict[tuple[Log, int], PendingExchange] = {}
        answered = [asked for asked in exchanges if asked.answer is not None]
        for asked in exchanges:
            match asked.request._api:
                case "Produce":
                    self._sent(asked)
                case "CreateTopics" | "DeleteTopics" | "AlterConfigs" | "IncrementalAlterConfigs":
                    self._leave_out(asked)  # also where the answer was lost: it may have been carried out
        for asked in sorted(answered, key=lambda asked: asked.received_ns):
            match asked.request._api:
                case "Produce":
                    self._acknowledged(asked)
                case "Fetch":
                    self._fetched(asked)
                case "EndTxn":
                    self._ended(asked)

    @property
    def places(self) -> list[Log]:
        """The partitions that can prove something."""
        return [place for place in {**self.written, **self.stored} if place[0] not in self.left_out]

    @property
    def shown_though_aborted(self) -> list[tuple[int, PendingExchange, PendingExchange]]:
        """Offset, EndTxn and Fetch, of topics whose offsets stand for one record each: none that was deleted."""
        return [
            (offset, ended, asked)
            for place, offset, ended, asked in self._shown_though_aborted
            if place[0] not in self._deleted
        ]

    def holds(self, place: Log, content: Content) -> list[int]:
        """The offsets at which this record was read."""
        return [offset for offset, found in self.seen[place].items() for one in found if one.content == content]

    def _topic(self, row: Any) -> Any:
        name = getattr(row, "topic", "") or getattr(row, "name", "")
        return self._ids.get(name, name) if name else getattr(row, "topic_id", name)

    def _batches(self, asked: PendingExchange) -> Iterator[tuple[Log, Batch, tuple[Content, ...]]]:
        for row in asked.request.topic_data:
            for part in row.partition_data:
                for found in batches(part.records or b"", cut_allowed=False):
                    yield (self._topic(row), part.index), found, contents(found)

    def _sent(self, asked: PendingExchange) -> None:
        try:
            for place, _, held in self._batches(asked):
                self.sent.update((place, content) for content in held)
        except RecordsMalformed:
            self.unreadable = True

    def _acknowledged(self, asked: PendingExchange) -> None:
        assert asked.answer is not None
        offsets = {
            (self._topic(row), part.index): part.base_offset
            for row in asked.answer.responses
            for part in row.partition_responses
            if part.error_code == 0 and part.base_offset >= 0
        }
        if asked.request.acks != ALL_REPLICAS:
            return
        try:
            found = list(self._batches(asked))
        except RecordsMalformed:
            return
        following = dict(offsets)
        for place, _, held in found:
            if place not in offsets:
                continue
            # A batch that is sent again is answered with its first offset: what lies there was said before.
            known = following[place] in self.written[place]
            if asked.request.transactional_id is not None and not known:
                self._open[asked.request.transactional_id].add((place, following[place]))
            for content in held:
                self.written[place].setdefault(following[place], Written(content, asked))
                following[place] += 1

    def _ended(self, asked: PendingExchange) -> None:
        assert asked.answer is not None
        if asked.answer.error_code:
            return
        batches_of_it = self._open.pop(asked.request.transactional_id, set())
        if not asked.request.committed:
            self._aborted.update((written, asked) for written in batches_of_it)

    def _fetched(self, asked: PendingExchange) -> None:
        assert asked.answer is not None
        positions = {
            (self._topic(row), part.partition): part.fetch_offset
            for row in asked.request.topics
            for part in row.partitions
        }
        for row in asked.answer.responses:
            for part in row.partitions:
                place = (self._topic(row), part.partition_index)
                if part.error_code == 0 and place in positions:
                    self._brought(asked, place, part, positions[place])

    def _brought(self, asked: PendingExchange, place: Log, part: Any, position: int) -> None:
        try:
            found = [(each, contents(each)) for each in batches(part.records or b"")]
        except RecordsMalformed:
            return
        for each, held in found:
            if each.header.is_control:
                continue
            self.stored[place].setdefault(each.header.base_offset, StoredBatch(each, held, asked))
            for record, content in zip(each.records(), held, strict=True):
                if all(one.content != content for one in self.seen[place][record.offset]):
                    self.seen[place][record.offset].append(FetchedRecord(content, asked))
        if found:
            self.passed[place].append((position, found[-1][0].header.last_offset, asked))
        if asked.request.isolation_level == READ_COMMITTED:
            self._shown(asked, place, part, [each for each, _ in found if each.header.last_offset >= position])
        else:
            self.ends[place] = (part.high_watermark, asked)

    def _shown(self, asked: PendingExchange, place: Log, part: Any, found: Sequence[Batch]) -> None:
        """Of what a read_committed client does not leave out, the batches whose abort was acknowledged before."""
        aborted = sorted((row.first_offset, row.producer_id) for row in part.aborted_transactions or [])
        aborting: set[int] = set()
        for each in found:
            header = each.header
            while aborted and aborted[0][0] <= header.last_offset:
                aborting.add(aborted.pop(0)[1])
            if header.is_control:
                aborting.discard(header.producer_id)
            elif header.is_transactional and header.producer_id not in aborting:
                ended = self._aborted.get((place, header.base_offset))
                if ended is not None and asked.sent_ns > ended.received_ns:
                    self._shown_though_aborted.append((place, header.base_offset, ended, asked))

    def _leave_out(self, exchange: PendingExchange) -> None:
        asked = exchange.request
        if asked._api == "DeleteTopics":
            answered: list[Any] = getattr(exchange.answer, "responses", [])  # which name what an id stood for
            rows = [*getattr(asked, "topics", []), *answered]
            names = [*(getattr(asked, "topic_names", None) or ()), *(row.name for row in rows)]
            self._deleted.update(names)
            self._deleted.update(self._ids[name] for name in names if name in self._ids)
            self._deleted.update(row.topic_id for row in rows if hasattr(row, "topic_id"))
            self.left_out.update(self._deleted)
            return
        for row in getattr(asked, "topics", ()) or getattr(asked, "resources", ()):
            if any(COMPACT in (each.value or "") for each in row.configs):
                name = row.name if hasattr(row, "name") else row.resource_name
                self.left_out.update((name, self._ids.get(name, name)))


def contents(found: Batch) -> tuple[Content, ...]:
    """What a client gets of each record of a batch, besides offset and time."""
    return tuple(_content(record) for record in found.records())


def _content(record: Record) -> Content:
    return record.key, record.value, tuple(record.headers)


def harm_in(exchanges: Sequence[PendingExchange], ids: Mapping[str, Any], *, all_seen: bool) -> Failure | None:
    """The first harm that these exchanges prove. `ids`: topic -> id; `all_seen`: nothing was sent besides them."""
    ledger = Ledger(exchanges, ids)
    for kind, sentence, proof in _harms(ledger, all_seen and not ledger.unreadable):
        evidence: tuple[Evidence, ...] = tuple(line for asked in dict.fromkeys(proof) for line in asked.evidence())
        return Failure(f"harm:{kind}", sentence, evidence, harms=True)
    return None


def _harms(ledger: Ledger, counts_sends: bool) -> Iterator[tuple[str, str, tuple[PendingExchange, ...]]]:
    for place in ledger.places:
        yield from _lost_or_altered(ledger, place)
        yield from _doubled_or_reordered(ledger, place)
        if counts_sends:
            yield from _too_often(ledger, place)
    for offset, ended, asked in ledger.shown_though_aborted:
        yield "aborted-read", f"read_committed shows offset {offset} of an aborted transaction", (ended, asked)


def _lost_or_altered(ledger: Ledger, place: Log) -> Iterator[tuple[str, str, tuple[PendingExchange, ...]]]:
    for offset, (content, wrote) in ledger.written[place].items():
        if ledger.holds(place, content):
            continue
        acknowledged = f"the record {content[1]!r} was acknowledged at offset {offset}"
        for other, asked in ledger.seen[place].get(offset, ())[:1]:
            yield "altered", f"{acknowledged}, and {other[1]!r} lies there", (wrote, asked)
        for first, last, asked in ledger.passed[place]:
            if first <= offset <= last and asked.sent_ns > wrote.received_ns:
                yield "lost-write", f"{acknowledged}, and a Fetch that passed it did not bring it", (wrote, asked)
        end, asked = ledger.ends.get(place, (offset + 1, wrote))
        if end <= offset and asked.sent_ns > wrote.received_ns:
            yield "lost-write", f"{acknowledged}, and later the log ended at {end}", (wrote, asked)


def _doubled_or_reordered(ledger: Ledger, place: Log) -> Iterator[tuple[str, str, tuple[PendingExchange, ...]]]:
    newest: dict[tuple[int, int], StoredBatch] = {}
    known: dict[tuple[Any, ...], StoredBatch] = {}
    for offset, stored in sorted(ledger.stored[place].items()):
        header = stored.batch.header
        if header.producer_id < 0:
            continue
        producer = (header.producer_id, header.producer_epoch)
        before = known.setdefault((*producer, header.base_sequence, stored.contents), stored)
        which = f"the batch with sequence {header.base_sequence} of an idempotent producer"
        if before is not stored:
            first = before.batch.header.base_offset
            yield "duplicate", f"{which} lies at offset {first} and at {offset}", (before.asked, stored.asked)
            continue
        earlier = newest.get(producer, stored)
        behind = earlier.batch.header.base_sequence - header.base_sequence
        if 0 < behind < HALF_OF_ALL_SEQUENCES:
            sequence = earlier.batch.header.base_sequence
            yield "reordered", f"{which} lies behind that with {sequence}, at {offset}", (earlier.asked, stored.asked)
        newest[producer] = stored


def _too_often(ledger: Ledger, place: Log) -> Iterator[tuple[str, str, tuple[PendingExchange, ...]]]:
    seen = ledger.seen[place]
    for content in dict.fromkeys(one.content for found in seen.values() for one in found):
        offsets, times = ledger.holds(place, content), ledger.sent[place, content]
        if len(offsets) > times > 0:
            sentence = f"the record {content[1]!r} was sent {times} times and lies at the offsets {sorted(offsets)}"
            proof = [one.asked for offset in offsets[:2] for one in seen[offset] if one.content == content]
            yield "duplicate", sentence, tuple(proof)
