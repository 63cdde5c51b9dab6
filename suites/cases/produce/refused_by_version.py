"""What Produce refuses, each for its own reason and in every version: an older one lacks a word (KIP-890, KIP-467)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.produce._batches import WRONG_SHAPE, broken_by
from brokertrial.suites.cases.produce._requests import NO_OFFSET
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.verification import code_of_its_own
from brokertrial.wire import errors
from brokertrial.wire.records import NO_TIMESTAMP, Record

VERIFICATION = "transaction.partition.verification.enable"
ZSTD_SINCE, RECORDS_NAMED_SINCE, ABORTABLE_SINCE, ADDS_SINCE, BY_ID_SINCE = 7, 8, 11, 12, 13
LIMIT, OPEN_MS = 3_000, 600_000
ROW = "responses[0].partition_responses[0]"
APIS = {"Produce": 3, "InitProducerId": 0, "AddPartitionsToTxn": 0, "EndTxn": 0}


@case(
    "produce/refused-in-every-version",
    guarantees=[
        "prod-004",
        "prod-006",
        "prod-008",
        "prod-011",
        "txn-020",
        "txn-019",
        "txn-007",
        "idem-005",
        "idem-009",
    ],
    apis=APIS,
    needs=["topic-settings", "partitions"],
    since="3.6 (KIP-890)",
    detects=["T03", "L06"],
)
def each_refusal_has_the_word_of_its_version(wire, topic_of, rng):
    """In every version an invalid Produce MUST be refused with the code of that version: TRANSACTION_ABORTABLE (120)
    since v11 and INVALID_TXN_STATE (48) before it for a partition that its transaction does not have, zstd before v7,
    an unknown topic by name or by id; and invalid records are named since v8. Nothing of it is written, and valid
    batches are accepted in each version.

    In a drawn order: batches that are broken, too large, without a key, out of time; sequences and epochs that are not
    next; transactional ones that are not in order with their coordinator, and a plain one amid a transaction.
    """
    if wire.setting(VERIFICATION) == "false":
        wire.not_applicable(f"{VERIFICATION} is false on this cluster", "refused-by-settings")
    refused = Refusals(wire, topic_of)
    versions = [version for version in wire.versions("Produce") if version >= 3]
    for version in rng.sample(versions, len(versions)):
        ways = refused.ways(version)
        for what in rng.sample(list(ways), len(ways)):
            with wire.part(f"{what}, v{version}"):
                refused.must_be_refused(version, *ways[what])
        with wire.part(f"good ones, v{version}"):
            refused.must_be_taken(version)
    refused.must_be_read()


def broken_by_producer(codes, transactional_id):
    """What is broken where a producer is not refused with one of these codes; empty where it is the batch."""
    transactional = {
        errors.INVALID_PRODUCER_EPOCH: ("txn-007",),
        errors.INVALID_TXN_STATE: ("txn-020",),
        errors.TRANSACTION_ABORTABLE: ("txn-020",),
        errors.INVALID_PRODUCER_ID_MAPPING: ("txn-029",),
    }
    plain = {errors.INVALID_TXN_STATE: ("txn-019",), errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: ("txn-020",)}
    return (transactional if transactional_id else plain).get(codes[0], ())


class Refusals:
    """A topic that takes nearly all, one that wants keys and times, and producers in every state."""

    def __init__(self, wire, topic_of):
        self.wire, self.count = wire, 0
        self.plain = topic_of(what="plain", partitions=2, configs={"max.message.bytes": str(LIMIT)})
        picky = {"cleanup.policy": "compact", "message.timestamp.before.max.ms": "3600000"}
        if "message.timestamp.before.max.ms" not in wire.configs_of_topic(self.plain):
            picky = {"cleanup.policy": "compact", "message.timestamp.difference.max.ms": "3600000"}
        self.picky = topic_of(what="picky", configs=picky)
        self.held = {self.plain: 0, self.picky: 0}
        self.numbered = wire.producer()
        self.numbered.send(self.plain, "n").must_be_at(0)
        self.numbered.raise_epoch(self.plain, self.numbered.batch("n", sequence=0, epoch=1)).must_be_at(1)
        self.held[self.plain] = 2
        self.open = wire.producer(wire.name("open"), timeout_ms=OPEN_MS)
        self._sent(self.open)
        self.stale = wire.producer(wire.name("stale"))
        self.stale_epoch = self.stale.epoch
        self.stale.start()
        self.lost = wire.producer(wire.name("lost"))

    @breaks("prod-001")
    def _take(self, topic, made, **how):
        self.wire.produce(topic, made, **how).must_be_at(self.held[topic])
        self.held[topic] += 1

    def _sent(self, producer):
        producer.send(self.plain, "in it").must_be_at(self.held[self.plain])
        self.held[self.plain] += 1

    def ways(self, version):
        """What is wrong -> topic, partition, batch, transactional id, the codes, and the records that are named."""
        wire, now = self.wire, self.wire.now_ms()
        unknown = errors.UNKNOWN_TOPIC_ID if version >= BY_ID_SINCE else errors.UNKNOWN_TOPIC_OR_PARTITION
        keyless = batch(records=[Record(b"k", b"1", (), now), Record(None, b"2", (), now)])
        late = batch(records=[Record(b"k", b"1", (), now - 10**8), Record(b"k", b"2", (), now)])
        amid = self.open.batch("amid", sequence=1 + self.count, transactional=False)
        gap = self.numbered.batch("gap", sequence=99, epoch=1)
        before = self.numbered.batch("before", sequence=0, epoch=0)
        named = (errors.INVALID_TXN_STATE,) if version < ABORTABLE_SINCE else (errors.TRANSACTION_ABORTABLE,)
        old = self.stale.batch("old", sequence=0, epoch=self.stale_epoch)
        unmapped = self.lost.batch("nobody", sequence=0)
        found = {
            "no such topic": (wire.name("nowhere"), 0, batch("a"), None, (unknown,)),
            "no such partition": (self.plain, 77, batch("a"), None, (errors.UNKNOWN_TOPIC_OR_PARTITION,)),
            "checksum": (self.plain, 0, batch("a", crc=12345), None, (errors.CORRUPT_MESSAGE,)),
            "two batches": (self.plain, 0, batch("a") + batch("b"), None, WRONG_SHAPE),
            "too large": (self.plain, 0, batch(b"x" * (LIMIT + 1)), None, (errors.MESSAGE_TOO_LARGE,)),
            "without a key": (self.picky, 0, keyless, None, (errors.INVALID_RECORD,), (1,)),
            "out of time": (self.picky, 0, late, None, (errors.INVALID_TIMESTAMP,), (0,)),
            "a gap": (self.plain, 0, gap, None, (errors.OUT_OF_ORDER_SEQUENCE_NUMBER,)),
            "an epoch of before": (self.plain, 0, before, None, (errors.INVALID_PRODUCER_EPOCH,)),
            "amid a transaction": (self.plain, 0, amid, None, (errors.INVALID_TXN_STATE,)),
            "an id of before": (self.plain, 1, old, self.stale.transactional_id, (errors.INVALID_PRODUCER_EPOCH,)),
            "an id without a producer": (
                self.plain,
                1,
                unmapped,
                wire.name("nobody"),
                (errors.INVALID_PRODUCER_ID_MAPPING,),
            ),
            "no id": (self.plain, 1, unmapped, None, (errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,)),
        }
        if version < ADDS_SINCE:
            stray = self.open.batch("stray", sequence=0)
            found["not added"] = (self.plain, 1, stray, self.open.transactional_id, named)
        if version < ZSTD_SINCE:
            packed = batch("a", compression="zstd")
            found["zstd"] = (self.plain, 0, packed, None, (errors.UNSUPPORTED_COMPRESSION_TYPE,))
        return found

    def must_be_refused(self, version, topic, partition, made, transactional_id, codes, named=()):
        how = {"transactional_id": transactional_id, "version": version, "retry": False}
        node = self.wire.leader(topic if topic in self.held else self.plain, partition if partition < 2 else 0)

        def asked():
            answer = self.wire.produce(topic, made, partition, to=node, **how)
            return answer, answer.error

        with breaks(*broken_by_producer(codes, transactional_id) or broken_by(codes)):
            answer = code_of_its_own(asked, codes[0])[0].must_be_refused(*codes)
        if answer.at(f"{ROW}.base_offset") != -1 and NO_OFFSET not in self.wire.noted:
            self.wire.noted.append(NO_OFFSET)
        if version >= RECORDS_NAMED_SINCE:
            indexes = [row.batch_index for row in answer.at(f"{ROW}.record_errors")]
            with breaks("rec-009"):
                answer.must(indexes == list(named), f"it names the records {indexes}; wrong are {list(named)}", ROW)

    def must_be_taken(self, version):
        """A good batch of each kind; the numbered and the transactional producer go on with their next."""
        count, now = self.count, self.wire.now_ms()
        self.count += 1
        self._take(self.plain, batch(f"v{version}"), version=version)
        self._take(self.picky, batch(records=[Record(b"k%d" % version, b"v", (), now)]), version=version)
        self._take(self.picky, batch(records=[Record(b"k", b"v", (), NO_TIMESTAMP)]), version=version)
        self._take(self.plain, self.numbered.batch("next", sequence=1 + count, epoch=1), version=version)
        mine = self.open.batch("mine", sequence=1 + count)
        self._take(self.plain, mine, version=version, transactional_id=self.open.transactional_id)

    @breaks("prod-004")
    def must_be_read(self):
        self.open.commit().must_succeed()
        self.wire.await_settled(self.plain)
        self.wire.read_all(self.plain).must_have_offsets(range(self.held[self.plain]))
        self.wire.list_offsets(self.plain).must_name(offset=self.held[self.plain] + 1)
        self.wire.list_offsets(self.plain, 1).must_name(offset=0)
        self.wire.list_offsets(self.picky).must_name(offset=self.held[self.picky])
