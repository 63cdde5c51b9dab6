"""The topics have a history: the case begins at an offset of some hundreds, in a log of several segments.

    draw 1    batches of nobody's records, of which each has an index entry of its own
    draw 2    the same, with an idempotent producer, and transactions that were committed and aborted among them
    draw 3    the same, and the first half of it was deleted (DeleteRecords)

The case counts from the end of the history: offsets are translated at the door (suites/situations/shifted.py), and the
evidence shows them as they were sent. The records of the history are of 1970, so that hardly a question about times
finds them (without a time they would: Kafka takes that of the file for a segment whose records have none); markers have
the time at which they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from brokertrial.suites.probe.answer import PendingExchange, Response
from brokertrial.suites.probe.fitting import fitted
from brokertrial.suites.probe.produce import batch
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.situations.acting import ActingSituation
from brokertrial.suites.situations.shifted import Bases, shift_answer, shift_request
from brokertrial.wire.messages import Struct
from brokertrial.wire.records import Record

SETTINGS = {"segment.index.bytes": "64", "retention.ms": "-1"}
"""Eight entries: the next batch begins a segment. None is too old."""
STATED_ON = ("cleanup", "delete", "file", "flush", "max", "message", "min.c", "retention", "segment")
"""How the names of settings begin that say how a log is kept: a case that sets one states on it."""
BATCHES, RECORDS = 20, 25
VALUE = b"of the past" * 20
"""So long that each batch is beyond the interval of the index (index.interval.bytes)."""
MOST_PARTITIONS = 3
NEEDED = ("Produce", "ListOffsets")
TRANSACTIONS = ("InitProducerId", "EndTxn")
WITH_TRANSACTIONS, CUT = 2, 3


class Deep(ActingSituation):
    """What was written before a case came is no business of it."""

    def __init__(self, wire: Wire, number: int, rng: Random, disturb: Callable[[str], str]) -> None:
        super().__init__(wire, number, rng, disturb)
        self._bases = Bases()
        self._is_fair = True

    def topic_settings(self, configs: Mapping[str, str]) -> Mapping[str, str]:
        self._is_fair = not any(name.startswith(STATED_ON) for name in configs)
        return {**SETTINGS, **configs} if self._is_fair else configs

    def topic_made(self, topic: str, partitions: int) -> None:
        if not self._is_fair or not all(map(self.wire.versions, NEEDED)):
            return
        exchanges = self.wire.traffic.exchanges
        before = len(exchanges or ())
        ends = {partition: self._write(topic, partition) for partition in range(min(partitions, MOST_PARTITIONS))}
        if exchanges is not None:
            del exchanges[before:]  # of no case: they are in other offsets than what comes
        self._bases.add(topic, self.wire.topic_id(topic), ends)
        self.effects += 1

    def _write(self, topic: str, partition: int) -> int:
        """A history; where it ends."""
        transactional = self.number >= WITH_TRANSACTIONS and all(map(self.wire.versions, TRANSACTIONS))
        self._write_plain(topic, partition, BATCHES // 2 if transactional else BATCHES)
        if transactional:
            self._write_transactions(topic, partition)
            self.wire.await_settled(topic, partition)
            self.asks_times = False  # a marker has the time at which it was written
        end = self.wire.log_end(topic, partition)
        if self.number == CUT and self.wire.versions("DeleteRecords"):
            self.wire.delete_records(topic, partition, offset=end // 2).must_succeed()
        return end

    def _write_plain(self, topic: str, partition: int, count: int) -> None:
        asked: list[Response] = [
            self.wire.produce(topic, _past(number), partition, wait=False) for number in range(count)
        ]
        for answer in asked:
            answer.must_succeed()

    def _write_transactions(self, topic: str, partition: int) -> None:
        plain = self.wire.producer()
        committing, aborting = (self.wire.producer(self.wire.name("past-x")) for _ in range(2))
        self._bases.left_out |= {plain.id, committing.id, aborting.id}
        for number in range(BATCHES // 6):
            for producer in (plain, committing, aborting):
                producer.send(topic, records=_records(number), partition=partition)
            if number % 2:
                committing.commit().must_succeed()
                aborting.abort().must_succeed()
        committing.commit().must_succeed()
        aborting.abort().must_succeed()

    def worded(self, meant: Struct, version: int) -> Struct:
        if not self._bases.concern(meant):
            return meant
        sent = fitted(meant, version)
        shift_request(sent, self._bases)
        return sent

    def understood(self, asked: PendingExchange) -> None:
        if asked.answer is not None:
            shift_answer(asked.answer, self._bases)


def _records(number: int) -> list[Record]:
    return [Record(b"past-%d-%d" % (number, index), VALUE, timestamp=number) for index in range(RECORDS)]


def _past(number: int) -> bytes:
    return batch(records=_records(number))


SITUATION = Deep
