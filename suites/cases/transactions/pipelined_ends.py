"""What a producer asks right behind the end of its transaction, without waiting for the answer."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.wire import errors

ROUNDS, PLACES, MOST, LONGEST_MS, WITHIN_S = 40, 4, 3, 60_000, 20
FENCED = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)
MAY_BE = (0, errors.CONCURRENT_TRANSACTIONS, errors.INVALID_TXN_STATE, *FENCED)
BEFORE = {"InitProducerId": 4, "Produce": 11, "TxnOffsetCommit": 4, "EndTxn": 4}
ASKED = ("a new epoch", "the next epoch of its own", "the same again", "the opposite", "a partition", "offsets")


@case(
    "transactions/whatever-follows-an-end-at-once",
    guarantees=["txn-010", "txn-011", "txn-001", "txn-002", "txn-012", "txn-023"],
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0, "AddOffsetsToTxn": 0, "TxnOffsetCommit": 0, "OffsetFetch": 7},
    needs=["partitions"],
    detects=["B303"],
)
def what_was_decided_stays_so(wire, topic_of, group, rng):
    """An end of a transaction that was acknowledged MUST be carried out as it was decided, in each partition and for
    its offsets, whatever its producer asks behind it on the same connection, before the answer: InitProducerId with its
    id and epoch or without, the same end again, the opposite, AddPartitionsToTxn and AddOffsetsToTxn. These MUST be
    answered as usual, or refused as by a coordinator that is busy or fences (51, 48, 47, 90).

    Three producers, one of them in the versions from before transaction.version 2; 40 rounds with one to three of
    these, drawn. Then InitProducerId ends what may have begun.
    """
    topic = topic_of(partitions=PLACES)
    producers = [wire.producer(wire.name(f"x{number}"), timeout_ms=LONGEST_MS) for number in range(2)]
    producers.append(OldProducer(wire, wire.name("old")))
    due: dict[int, list[str]] = {partition: [] for partition in range(PLACES)}
    offset = -1
    for turn in range(ROUNDS):
        producer, commit = rng.choice(producers), rng.random() < 0.5
        held = rng.sample(range(PLACES), rng.randint(1, 3))
        for partition in held:
            producer.send(topic, f"{turn}", partition=partition).must_succeed()
        producer.send_offsets(group, {(topic, 0): turn}).must_succeed()
        with wire.together():
            ended = (producer.commit if commit else producer.abort)(wait=False)
            behind = [
                _asked(wire, producer, rng.choice(ASKED), commit, topic, group) for _ in range(rng.randint(1, MOST))
            ]
        for answer in behind:
            code = answer.error
            answer.must(code in MAY_BE, f"behind an end it is answered {errors.name(code)}", "error_code")
        ended.must_succeed()
        producer.start()
        if commit:
            offset = turn
            for partition in held:
                due[partition].append(f"{turn}")
        for partition in held:
            wire.await_settled(topic, partition, within=WITHIN_S)
            wire.read_all(topic, partition, isolation=COMMITTED).must_hold(*due[partition])
        wire.eventually(
            lambda offset=offset: wire.committed(group, topic, require_stable=True).must_be(offset), within=WITHIN_S
        )


class OldProducer:
    """As `wire.producer()`, of the newest versions in which an end leaves the epoch as it is."""

    def __init__(self, wire, transactional_id):
        self.wire, self.transactional_id = wire, transactional_id
        self.versions = {api: min(newest, wire.versions(api)[-1]) for api, newest in BEFORE.items()}
        self.start()

    def start(self):
        given = self.wire.init_producer_id(
            self.transactional_id, timeout_ms=LONGEST_MS, version=self.versions["InitProducerId"]
        )
        self.id, self.epoch, self.sequences = given.producer_id, given.epoch, dict[int, int]()

    def send(self, topic, value, partition):
        who = (self.transactional_id, self.id, self.epoch)
        self.wire.add_partitions(*who, [(topic, partition)]).must_succeed()
        sequence = self.sequences.get(partition, 0)
        self.sequences[partition] = sequence + 1
        ids = {"producer_id": self.id, "producer_epoch": self.epoch, "base_sequence": sequence, "transactional": True}
        return self.wire.produce(
            topic,
            batch(value, **ids),
            partition,
            transactional_id=self.transactional_id,
            version=self.versions["Produce"],
        )

    def send_offsets(self, group, offsets):
        who = (self.transactional_id, self.id, self.epoch)
        self.wire.add_offsets(*who, group).must_succeed()
        return self.wire.txn_offset_commit(*who, group, offsets, version=self.versions["TxnOffsetCommit"])

    def commit(self, *, wait):
        return self._end(commit=True, wait=wait)

    def abort(self, *, wait):
        return self._end(commit=False, wait=wait)

    def _end(self, *, commit, wait):
        who = (self.transactional_id, self.id, self.epoch)
        return self.wire.end_txn(*who, commit=commit, version=self.versions["EndTxn"], wait=wait)


def _asked(wire, producer, what, commit, topic, group):
    of, known = producer.transactional_id, (producer.id, producer.epoch)
    if what == "a new epoch":
        return wire.init_producer_id(of, timeout_ms=LONGEST_MS, wait=False)
    if what == "the next epoch of its own":
        return wire.init_producer_id(of, timeout_ms=LONGEST_MS, producer_id=known[0], epoch=known[1], wait=False)
    if what in ("the same again", "the opposite"):
        # in the version of the end before it: what another one means behind it is promised nowhere
        how = {"version": producer.versions["EndTxn"]} if isinstance(producer, OldProducer) else {}
        return wire.end_txn(of, *known, commit=commit == (what == "the same again"), wait=False, **how)
    if what == "a partition":
        return wire.add_partitions(of, *known, [(topic, 0)], wait=False)
    return wire.add_offsets(of, *known, group, wait=False)
