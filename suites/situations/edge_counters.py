"""Counters that a client may choose begin just below their end.

    draw 1    sequences of idempotent producers, which go on from 2147483647 to 0
    draw 2    offsets that groups commit, just below 2^63; correlation ids, which go on from 2147483647 to -2147483648
    draw 3    both

A partition that was never written to may insist on sequence 0 (KAFKA-15591): one record of nobody is there before the
case, which counts its offsets from there (suites/situations/shifted.py).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.fitting import fitted
from brokertrial.suites.probe.produce import batch
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.situations.acting import ActingSituation
from brokertrial.suites.situations.sequences import Sequences
from brokertrial.suites.situations.shifted import Bases, shift_answer, shift_request
from brokertrial.wire.messages import Struct
from brokertrial.wire.records import NO_TIMESTAMP

SEQUENCES, NUMBERS = (1, 3), (2, 3)
FIRST_CORRELATION_ID = 2**31 - 3
ROOM = 1_000_000
FIRST_OFFSET = 2**63 - 1 - ROOM
COMMITS = ("OffsetCommit", "TxnOffsetCommit")
GROUPS_SINCE = 8
NOBODYS = batch("of nobody", key=b"nobody", timestamp=NO_TIMESTAMP)


class EdgeCounters(ActingSituation):
    """What counts is how far two of them are apart."""

    def __init__(self, wire: Wire, number: int, rng: Random, disturb: Callable[[str], str]) -> None:
        super().__init__(wire, number, rng, disturb)
        self._bases = Bases()
        self._sequences = Sequences(self._name_of)
        if number in NUMBERS:
            self.first_correlation_id = FIRST_CORRELATION_ID
            self.effects += number not in SEQUENCES

    def topic_made(self, topic: str, partitions: int) -> None:
        exchanges = self.wire.traffic.exchanges
        before = len(exchanges or ())
        if self.number not in SEQUENCES:
            return
        for partition in range(partitions):
            self.wire.produce(topic, NOBODYS, partition).must_succeed()
        if exchanges is not None:
            del exchanges[before:]
        self._bases.add(topic, self.wire.topic_id(topic), dict.fromkeys(range(partitions), 1))

    def worded(self, meant: Struct, version: int) -> Struct:
        commits = self.number in NUMBERS and meant._api in (*COMMITS, "OffsetFetch")
        if not commits and not self._bases.concern(meant):
            return meant
        sent = fitted(meant, version)
        if commits:
            self._commit(sent)
        elif sent._api == "Produce":
            self.effects += self._sequences.send(sent)
        else:
            shift_request(sent, self._bases)
        return sent

    def _name_of(self, row: Any) -> str:
        name = getattr(row, "name", "") or getattr(row, "topic", "")
        if name:
            return str(name)
        return next((topic for topic, found in self.wire.topic_ids.items() if found == row.topic_id), "")

    def _commit(self, asked: Struct) -> None:
        for topic in asked.topics if asked._api in COMMITS else ():
            for row in topic.partitions:
                if 0 <= row.committed_offset <= ROOM:
                    row.committed_offset += FIRST_OFFSET
                    self.effects += 1

    def understood(self, asked: PendingExchange) -> None:
        answer = asked.answer
        if answer is None or asked.request._api in COMMITS:
            return
        if asked.request._api != "OffsetFetch":
            self._sequences.told(answer)
            shift_answer(answer, self._bases)
            return
        for group in answer.groups if asked.version >= GROUPS_SINCE else (answer,):
            for topic in group.topics:
                for row in topic.partitions:
                    if row.committed_offset >= FIRST_OFFSET:
                        row.committed_offset -= FIRST_OFFSET


SITUATION = EdgeCounters
