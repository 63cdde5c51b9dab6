"""Batches of a transaction that is over, or has not come to their partition yet, in each version that is verified."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.verification import NOT_ADDED
from brokertrial.wire import errors

VERIFICATION = "transaction.partition.verification.enable"
NEWEST = {"Produce": 11, "AddPartitionsToTxn": 3, "EndTxn": 4}
"""Later ones are between brokers, or join by themselves."""
FENCED = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)
WITHIN_S, TIMEOUT_MS = 30, 55_000


@case(
    "transactions/late-in-every-version",
    guarantees=["txn-018", "txn-020", "txn-001"],
    apis={"Produce": 3, "InitProducerId": 0, "AddPartitionsToTxn": 0, "EndTxn": 0},
    needs=["partitions"],
    since="3.6 (KIP-890)",
    detects=["B184"],
)
def each_transaction_is_verified_anew(wire, topic_of, rng):
    """In each version in which partitions are added beforehand a batch MUST be refused where its partition is not of
    the open transaction, though it was of an earlier one of the same producer and epoch: after that has ended, and
    while a later one is open elsewhere. No transaction MUST be left open by it. Once the partition is added again, the
    same batch MUST be taken.

    It is the producer's next one, so that its sequence is no reason to refuse it. Two partitions of six.
    """
    if wire.setting(VERIFICATION) == "false":
        wire.not_applicable(f"{VERIFICATION} is false on this cluster", "refused-by-settings")
    topic = topic_of(partitions=6)
    for version in (each for each in wire.versions("Produce") if each <= NEWEST["Produce"]):
        if version < 3:
            continue
        with wire.part(f"v{version}"):
            one, two = rng.sample(range(6), 2)
            AddingProducer(wire, rng, topic, version).must_be_verified_anew(one, two)


class AddingProducer:
    """A producer that adds its partitions by request."""

    def __init__(self, wire, rng, topic, version):
        self.wire, self.rng, self.topic, self.version = wire, rng, topic, version
        self.made = wire.producer(wire.name("x"), timeout_ms=TIMEOUT_MS)
        self.name = self.made.transactional_id
        self.sent: dict[int, list[bytes]] = {}

    def must_be_verified_anew(self, one, two):
        self._add(one)
        self._must_be_taken(one)
        self._end([one])
        self._must_be_refused(one)
        self._add(two)
        self._must_be_taken(two)
        self._must_be_refused(one)
        self._add(one)
        for _ in range(self.rng.randint(1, 2)):
            self._must_be_taken(one)
        self._end([one, two])
        for each in (one, two):
            self._must_be_refused(each)
            end = self.wire.log_end(self.topic, each)
            self.wire.list_offsets(self.topic, each, isolation=COMMITTED).must_name(offset=end)

    def _older(self, api):
        return self.rng.choice([each for each in self.wire.versions(api) if each <= NEWEST[api]])

    def _add(self, partition):
        where, version = [(self.topic, partition)], self._older("AddPartitionsToTxn")
        self.wire.add_partitions(self.name, self.made.id, self.made.epoch, where, version=version).must_succeed()

    def _end(self, partitions):
        """Committed or not, and its markers are there."""
        how = {"commit": self.rng.random() < 0.5, "version": self._older("EndTxn")}
        self.wire.end_txn(self.name, self.made.id, self.made.epoch, **how).must_succeed()
        for each in partitions:
            self.wire.await_settled(self.topic, each, within=WITHIN_S)

    def _written(self, partition):
        number = len(self.sent.setdefault(partition, []))
        made = self.made.batch(f"v{self.version} {number}", sequence=number)
        return self.wire.produce(self.topic, made, partition, transactional_id=self.name, version=self.version)

    def _must_be_taken(self, partition):
        self._written(partition).must_succeed()
        self.sent[partition].append(b"")

    def _must_be_refused(self, partition):
        self._written(partition).must_be_refused(*FENCED, *NOT_ADDED)
