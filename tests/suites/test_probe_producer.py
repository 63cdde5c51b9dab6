"""The producer of the wire cases follows the transaction protocol of the cluster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from brokertrial.suites.probe.producer import Producer


class OldWire:
    """A cluster before transaction.version 2: partitions are added to a transaction by request."""

    transaction_version = 1

    def __init__(self) -> None:
        self.asked: list[str] = []

    def versions(self, api: str) -> range:
        return range(12)

    def now_ms(self) -> int:
        return 0

    def init_producer_id(self, transactional_id: str | None, **settings: Any) -> SimpleNamespace:
        self.asked.append("InitProducerId")
        return SimpleNamespace(producer_id=7, epoch=self.asked.count("InitProducerId"))

    def add_partitions(self, *words: Any, **settings: Any) -> SimpleNamespace:
        self.asked.append("AddPartitionsToTxn")
        return SimpleNamespace(must_succeed=lambda: None)

    def produce(self, *words: Any, **settings: Any) -> None:
        self.asked.append("Produce")


def test_who_begins_anew_adds_its_partitions_again() -> None:
    wire = OldWire()
    producer = Producer(wire, "x", 60_000, "main")
    producer.send("t", "a")
    producer.send("t", "b")
    producer.start()
    producer.send("t", "c")
    first = ["InitProducerId", "AddPartitionsToTxn", "Produce"]
    assert wire.asked == [*first, "Produce", *first]
