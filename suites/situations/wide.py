"""The case is not alone: other partitions, producers, transactions and groups were there before it, beside its own.

draw 1    two more partitions, written by plain and idempotent producers
draw 2    the same, and a transaction that stays open in one of them
draw 3    the same, with a topic beside it whose name begins alike, and a group that has committed in all of them
"""

from __future__ import annotations

from brokertrial.suites.probe.produce import batch
from brokertrial.suites.probe.topics import READY_S
from brokertrial.suites.situations.acting import ActingSituation
from brokertrial.wire.messages import request
from brokertrial.wire.records import Record

MORE = 2
BESIDE = (Record(b"beside-1", b"of nobody"), Record(b"beside-2", b"of nobody"))
"""With keys, for a compacted topic takes no others."""
OPEN_FOR_MS = 60_000
TRANSACTIONS = ("InitProducerId", "EndTxn")


class Wide(ActingSituation):
    """What is beside the case is its own doing: the case neither sees it nor names it."""

    def topic_made(self, topic: str, partitions: int) -> None:
        wire = self.wire
        if not wire.versions("CreatePartitions"):
            return
        wire.create_partitions(topic, partitions + MORE).must_succeed()
        self._await_partitions(topic, partitions + MORE)
        wire.produce(topic, batch(records=BESIDE), partition=partitions).must_succeed()
        if wire.versions("InitProducerId"):
            wire.producer().send(topic, records=BESIDE, partition=partitions + 1).must_succeed()
        if self.number > 1 and all(map(wire.versions, TRANSACTIONS)):
            beside = wire.producer(wire.name("beside-x"), timeout_ms=OPEN_FOR_MS)
            beside.send(topic, records=BESIDE, partition=partitions).must_succeed()
        if self.number > 2:
            self._make_others(topic, partitions + MORE)
        self.effects += 1

    def _await_partitions(self, topic: str, count: int) -> None:
        """Every node knows all of them: a leader that has not heard of its partition yet refuses a write."""
        asked = request("Metadata", topics=[{"name": topic}], allow_auto_topic_creation=False)

        def known(node: int) -> bool:
            rows = self.wire.ask(asked, to=node).must_succeed().struct.topics
            return bool(rows) and len(rows[0].partitions) == count

        self.wire.until(
            lambda: all(map(known, self.wire.nodes)), within=READY_S, what=f"every node knows {count} partitions"
        )
        self.wire.await_topic(topic)

    def _make_others(self, topic: str, partitions: int) -> None:
        """A topic and a group that are nobody's; their names begin as those of the case do."""
        wire, other = self.wire, f"{topic}-beside"
        wire.create_topic(other).must_succeed()
        wire.await_topic(other)
        wire.produce(other, batch(records=BESIDE)).must_succeed()
        places = {(topic, partition): 7 + partition for partition in range(partitions)}
        wire.commit_all(other, {**places, (other, 0): 1}).must_succeed()


SITUATION = Wide
