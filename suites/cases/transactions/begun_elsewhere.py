"""A leader refuses the first batch of a transaction, which begins under another leader, and leads again (KIP-890)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._led_in_turn import APIS as MOVES
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.verification import NOT_ADDED

VERIFICATION = "transaction.partition.verification.enable"
COPIES, TIMEOUT_MS = {"min.insync.replicas": "1"}, 55_000
NEWEST = {"Produce": 11, "AddPartitionsToTxn": 3, "EndTxn": 4}
"""Later ones are between brokers, or join by themselves."""


@case(
    "transactions/begun-under-another-leader",
    guarantees=["txn-021", "idem-008", "txn-001"],
    apis={"Produce": 3, "InitProducerId": 0, "AddPartitionsToTxn": 0, "EndTxn": 0, **MOVES},
    needs=["three-nodes", "leaders", "partitions", "topic-settings"],
    since="3.6 (KIP-890)",
    detects=["B153"],
)
def what_it_refused_once_is_over(wire, nodes, rng):
    """A leader that refused the first batch of a transaction, as its partition was not added yet, and followed while
    that transaction began under another leader, MUST take the next batches of the producer when it leads again: of the
    same transaction, and of a later one. All that is committed MUST be there, once.

    Of three producers one goes on in its transaction, one has ended it meanwhile, and one begins only then.
    """
    if wire.setting(VERIFICATION) == "false":
        wire.not_applicable(f"{VERIFICATION} is false on this cluster", "refused-by-settings")
    first, second, third = order = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", order, **COPIES)
    goes_on, ended, late = (OlderProducer(wire, topic, what) for what in ("goes on", "ended", "late"))
    for one in (goes_on, ended, late):
        one.must_be_refused()
    comes_to_lead(wire, topic, [second, third, first], second)
    all_in_sync(wire, topic)
    for one in rng.sample((goes_on, ended), 2):
        one.begin()
        for _ in range(rng.randint(1, 3)):
            one.must_be_taken()
    ended.end()

    comes_to_lead(wire, topic, order, second)
    all_in_sync(wire, topic)
    for one in (ended, late):
        one.begin()
    for one in rng.sample((goes_on, ended, late), 3):
        with wire.part(one.what):
            one.must_be_taken()
            one.must_be_taken()
    for one in rng.sample((goes_on, ended, late), 3):
        one.end()
    wire.await_settled(topic, within=WITHIN_S)
    read = wire.read_all(topic, isolation=COMMITTED)
    wanted = sorted([*goes_on.sent, *ended.sent, *late.sent])
    read.must(sorted(read.values) == wanted, f"committed are {sorted(read.values)}; it must be {wanted}")


class OlderProducer:
    """A producer that adds its partition by request."""

    def __init__(self, wire, topic, what):
        self.wire, self.topic, self.what = wire, topic, what
        made = wire.producer(wire.name("x"), timeout_ms=TIMEOUT_MS)
        self.made, self.name = made, made.transactional_id
        self.sent: list[bytes] = []

    def _version(self, api):
        return min(NEWEST[api], max(self.wire.versions(api)))

    def _written(self):
        made = self.made.batch(f"{self.what} {len(self.sent)}", sequence=len(self.sent))
        return self.wire.produce(self.topic, made, transactional_id=self.name, version=self._version("Produce"))

    def must_be_refused(self):
        self._written().must_be_refused(*NOT_ADDED)

    def begin(self):
        where = [(self.topic, 0)]
        version = self._version("AddPartitionsToTxn")
        self.wire.add_partitions(self.name, self.made.id, self.made.epoch, where, version=version).must_succeed()

    def must_be_taken(self):
        self._written().must_succeed()
        self.sent.append(f"{self.what} {len(self.sent)}".encode())

    def end(self):
        version = self._version("EndTxn")
        self.wire.end_txn(self.name, self.made.id, self.made.epoch, commit=True, version=version).must_succeed()
