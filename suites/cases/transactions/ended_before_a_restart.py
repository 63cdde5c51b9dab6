"""EndTxn that is sent again to a coordinator which has begun anew since it was answered (KIP-98, KIP-890)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.wire import errors

BUMPS_SINCE, IMPLICIT_SINCE = 5, 12
"""Of EndTxn, whose answer has the next epoch; of Produce, which adds its partitions (KIP-890)."""
TRANSACTION, PATIENT_MS = 1, 60_000


@case(
    "transactions/ended-before-a-restart",
    guarantees=["txn-010", "txn-021", "txn-001"],
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0, "Produce": 3},
    needs=["kill", "terminate", "restart"],
    detects=["B118"],
)
def who_missed_the_answer_asks_the_next_coordinator(wire, topic, rng, nodes):
    """An end that is sent again after its coordinator was stopped or killed, as by a producer that missed the answer,
    MUST succeed with the same answer in every version of EndTxn, its opposite MUST be refused (48), and the producer's
    next transaction MUST be decided as it is ended.

    A commit and an abort in each version, and where an end raises the epoch an abort of nothing; some are asked for
    again before the restart too.
    """
    committed: list[str] = []
    offered = wire.versions("EndTxn")
    ends = [Ended(wire, topic, version, commit, committed) for version in offered for commit in (True, False)]
    ends += [Ended(wire, None, version, False, committed) for version in offered if version >= BUMPS_SINCE]
    for act in rng.sample([nodes.stop_and_start, nodes.crash], 2):
        for each in rng.sample(ends, len(ends)):
            each.ends()
        wire.await_settled(topic)
        for each in rng.sample(ends, len(ends) // 2):
            each.must_end_again()
        for node in sorted({each.coordinator() for each in ends}):
            act(node)
        wire.await_topic(topic)
        for each in rng.sample(ends, len(ends)):
            with wire.part(each.name):
                each.must_end_again()
                each.must_not_end_otherwise()
                each.must_end_again()
        for each in rng.sample(ends, len(ends)):
            each.goes_on()
        wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*committed)


class Ended:
    """A transactional id whose transactions are ended in one version, and in one way."""

    def __init__(self, wire, topic, version, commit, committed):
        self.wire, self.topic, self.version, self.commit = wire, topic, version, commit
        what = ("commit" if commit else "abort") if topic else "abort of nothing"
        self.name, self.id = f"v{version}, {what}", wire.name("x")
        begun = wire.init_producer_id(self.id, timeout_ms=PATIENT_MS).must_succeed()
        self.who = self.after = begun.producer_id, begun.epoch
        self.sequence, self.written, self.committed = 0, 0, committed

    def ends(self):
        """Its next transaction."""
        self.who = self.after
        if self.topic:
            self._write(self.commit)
        answer = self._asked(self.commit).must_succeed()
        if self.version >= BUMPS_SINCE:
            self.after, self.sequence = (answer.producer_id, answer.epoch), 0

    def must_end_again(self):
        answer = self._asked(self.commit).must_succeed()
        if self.version >= BUMPS_SINCE:
            found = answer.producer_id, answer.epoch
            answer.must(found == self.after, f"it is answered with {found}; it had been {self.after}", "producer_epoch")

    def must_not_end_otherwise(self):
        self._asked(not self.commit).must_be_refused(errors.INVALID_TXN_STATE)

    def goes_on(self):
        """A transaction that commits, whatever the others do."""
        if self.topic:
            self.who = self.after
            self._write(True)
            answer = self._asked(True).must_succeed()
            if self.version >= BUMPS_SINCE:
                self.after, self.sequence = (answer.producer_id, answer.epoch), 0

    def coordinator(self):
        self.wire.forget_coordinator(self.id, TRANSACTION)
        return self.wire.coordinator(self.id, TRANSACTION)

    def _asked(self, commit):
        return self.wire.end_txn(self.id, *self.who, commit=commit, version=self.version)

    def _write(self, commit):
        """One record, as clients of before KIP-890 write it."""
        value = f"{self.name} {self.written}"
        producer_id, epoch = self.who
        self.wire.add_partitions(self.id, *self.who, [(self.topic, 0)]).must_succeed()
        made = batch(
            value, producer_id=producer_id, producer_epoch=epoch, base_sequence=self.sequence, transactional=True
        )
        newest = min(IMPLICIT_SINCE - 1, self.wire.versions("Produce")[-1])
        self.wire.produce(self.topic, made, transactional_id=self.id, version=newest).must_succeed()
        self.sequence, self.written = self.sequence + 1, self.written + 1
        self.committed += [value] * commit
