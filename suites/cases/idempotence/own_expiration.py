"""Producers and transactional ids are forgotten each by a setting of its own (KIP-854)."""

from brokertrial.suites.case import case
from brokertrial.wire import errors

OF_PRODUCERS, OF_IDS = "producer.id.expiration.ms", "transactional.id.expiration.ms"
CHECKS = "producer.id.expiration.check.interval.ms"
CLEANS = {"transaction.remove.expired.transaction.cleanup.interval.ms": "500"}
SHORT_MS, HOUR_MS, WITHIN_S, CHECKED_MS = 6_000, 3_600_000, 40, 1_500
ROWS, STATE = "topics[0].partitions[0].active_producers", "transaction_states[0]"
BATCHES, AGES_MS = 2, (0, HOUR_MS)


@case(
    "idempotence/expires-by-a-setting-of-its-own",
    guarantees=["idem-002", "idem-005", "idem-011", "txn-026", "txn-031"],
    apis={
        "AddPartitionsToTxn": 0,
        "EndTxn": 0,
        "DescribeProducers": 0,
        "DescribeTransactions": 0,
        "DeleteTopics": 1,
    },
    needs=["chosen-settings", "started", "terminate", "restart"],
    since="3.4 (KIP-854)",
    detects=["B144", "B145"],
)
def what_expires_does_so_by_its_own_setting(wire, topic, nodes):
    """A partition MUST know its producers for producer.id.expiration.ms, with their last sequences and batches, also
    where transactional ids are forgotten sooner (transactional.id.expiration.ms), be they idempotent or the producers
    of such ids. A transactional id MUST be known for its own time too, also where the partitions have forgotten its
    producer: it may go on.

    First the ids expire after six seconds and the producers after a day, then the other way round. The records of one
    producer are an hour old.
    """
    nodes.start_with({OF_IDS: str(SHORT_MS), **CLEANS})
    wire.await_topic(topic)
    wire.needs_setting(CHECKS, at_most=5_000)
    known = ExpiringProducers(wire, topic)
    known.commits()
    wire.until(known.id_is_forgotten, within=WITHIN_S, what="a transactional id that is not used is forgotten")
    known.rest_for_checks()
    with wire.part("where transactional ids expire sooner"):
        known.must_be_known()

    nodes.start_with({OF_PRODUCERS: str(SHORT_MS), **CLEANS})
    wire.await_topic(topic)
    again = ExpiringProducers(wire, topic)
    again.commits()
    wire.until(again.producers_are_forgotten, within=WITHIN_S, what="producers that are idle are forgotten")
    again.rest_for_checks()
    with wire.part("where producers expire sooner"):
        again.must_go_on()
    wire.delete_topic(topic).must_succeed()


class ExpiringProducers:
    """Idempotent producers and one of a transactional id, what they sent, and what is known of it."""

    def __init__(self, wire, topic):
        self.wire, self.topic = wire, topic
        self.plain = [wire.producer() for _ in AGES_MS]
        self.of_an_id = wire.producer(wire.name("x"), timeout_ms=55_000)
        self.sent = {}
        """Producer id -> its batches and where they are."""

    def commits(self):
        """Each idempotent producer sends its batches, and the other one a transaction."""
        for producer, age_ms in zip(self.plain, AGES_MS, strict=True):
            for sequence in range(BATCHES):
                made = producer.batch(f"{age_ms}", sequence=sequence, timestamp=self.wire.now_ms() - age_ms)
                answer = self.wire.produce(self.topic, made)
                if answer.error == errors.INVALID_TIMESTAMP:
                    self.wire.not_applicable("the broker takes no records with old times", "unsupported")
                answer.must_succeed()
                self.sent.setdefault(producer.id, []).append((made, answer.offset))
        self.transactional = self.of_an_id.id
        self.of_an_id.send(self.topic, "in a transaction").must_succeed()
        self.of_an_id.commit().must_succeed()
        self.wire.await_settled(self.topic)

    def rest_for_checks(self):
        """Partitions are looked through once more."""
        began_ms, every_ms = self.wire.now_ms(), int(self.wire.setting(CHECKS) or 0)
        over_ms = began_ms + every_ms + CHECKED_MS
        self.wire.until(lambda: self.wire.now_ms() > over_ms, within=10, what="the check was due once more")

    def id_is_forgotten(self):
        answer = self.wire.describe_transaction(self.of_an_id.transactional_id)
        return answer.struct.transaction_states[0].error_code == errors.TRANSACTIONAL_ID_NOT_FOUND

    def producers_are_forgotten(self):
        return not self._described() & {*self.sent, self.transactional}

    def _described(self):
        return {row.producer_id for row in self.wire.describe_producers(self.topic).must_succeed().at(ROWS)}

    def must_be_known(self):
        """All are described, what was sent is known again, and a gap is one."""
        answer = self.wire.describe_producers(self.topic).must_succeed()
        rows = {row.producer_id: row.last_sequence for row in answer.at(ROWS)}
        missing = sorted({*self.sent, self.transactional} - {*rows})
        answer.must(not missing, f"the producers {missing} are forgotten; {OF_PRODUCERS} is a day", ROWS)
        for producer in self.plain:
            last = rows[producer.id]
            answer.must(last == BATCHES - 1, f"a last sequence is {last}; it must be {BATCHES - 1}", ROWS)
            made, offset = self.sent[producer.id][-1]
            self.wire.produce(self.topic, made).must_be_at(offset)
            gap = producer.batch("gap", sequence=BATCHES + 3)
            self.wire.produce(self.topic, gap).must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)

    def must_go_on(self):
        """The partitions know nothing of the id's producer, the coordinator does."""
        described = self.wire.describe_transaction(self.of_an_id.transactional_id).must_succeed()
        described.must_have(f"{STATE}.transaction_state", "CompleteCommit")
        described.must_have(f"{STATE}.producer_id", self.of_an_id.id)
        self.of_an_id.send(self.topic, "in another transaction").must_succeed()
        self.of_an_id.commit().must_succeed()
