"""Several producers on several partitions, what each step does is drawn: the broker's memory is followed (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.wire import errors

OLD_EPOCH = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)
NOT_NEXT = (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.DUPLICATE_SEQUENCE_NUMBER)
WINDOW = 5


class Sent:
    """What a partition must know of one producer."""

    def __init__(self):
        self.epoch = 0
        self.next = 0
        self.batches = []
        """(bytes, offset), of this epoch, the newest last."""
        self.before = []
        """Bytes of epochs that are over."""


@case(
    "idempotence/whatever-comes-next",
    guarantees=["idem-002", "idem-003", "idem-005", "idem-009", "idem-015"],
    apis={"InitProducerId": 0},
    needs=["partitions"],
    detects=["M10", "M12", "M13a"],
)
def what_a_partition_knows_of_each_producer(wire, topic_of, rng):
    """Whatever producers send in whatever order, a partition MUST append each next batch, answer each of the five
    newest with its first offset, and refuse gaps and epochs that are over; the log MUST hold what was appended.

    Three producers, two partitions, 120 drawn steps: the next batch, one of the five newest, a gap, a new epoch, a
    batch of an old one.
    """
    topic = topic_of(partitions=2)
    producers = [wire.producer() for _ in range(3)]
    known = {(number, partition): Sent() for number in range(3) for partition in range(2)}
    logs: dict[int, list[bytes]] = {0: [], 1: []}
    for turn in range(120):
        number, partition = rng.randrange(3), rng.randrange(2)
        one, log = known[number, partition], logs[partition]
        step = rng.choice(("next", "next", "next", "again", "gap", "new epoch", "old epoch"))
        if step == "again" and one.batches:
            made, offset = rng.choice(one.batches[-WINDOW:])
            wire.produce(topic, made, partition).must_be_at(offset)
        elif step == "gap" and one.batches:
            made = producers[number].batch("gap", sequence=one.next + rng.randint(1, 9), epoch=one.epoch)
            wire.produce(topic, made, partition).must_be_refused(*NOT_NEXT)
        elif step == "old epoch" and one.before:
            wire.produce(topic, rng.choice(one.before), partition).must_be_refused(*OLD_EPOCH)
        elif step in ("next", "new epoch"):
            if step == "new epoch" and one.batches:
                one.before += [made for made, _ in one.batches]
                one.epoch, one.next, one.batches = one.epoch + 1, 0, []
            values = [f"{number}.{turn}.{n}" for n in range(rng.randint(1, 3))]
            made = producers[number].batch(*values, sequence=one.next, epoch=one.epoch)
            wire.produce(topic, made, partition).must_be_at(len(log))
            one.batches.append((made, len(log)))
            one.next += len(values)
            log += [value.encode() for value in values]
    for partition, log in logs.items():
        wire.read_all(topic, partition).must_hold(*log)


@case(
    "idempotence/epochs-of-several-partitions",
    guarantees=["idem-009", "idem-015"],
    apis={"InitProducerId": 3},
    needs=["partitions"],
    detects=["M13a"],
)
def a_new_epoch_counts_for_each_partition_when_it_comes(wire, topic_of):
    """A producer that has its epoch raised by InitProducerId MUST begin at 0 in each partition with its first batch
    there; a partition without a batch of the new epoch still knows the batches of the old one.

    Without a transactional id a raised epoch fences no producer until the partition sees it (KIP-360).
    """
    topic = topic_of(partitions=3)
    producer = wire.producer()
    first = [producer.batch(f"first of {partition}", sequence=0) for partition in range(3)]
    for partition in range(3):
        wire.produce(topic, first[partition], partition).must_be_at(0)
    for partition in (0, 1):
        raised = producer.batch("raised", sequence=0, epoch=1)
        wire.produce(topic, raised, partition).must_be_at(1)
        wire.produce(topic, raised, partition).must_be_at(1)
        for later in range(partition + 1, 3):
            wire.produce(topic, first[later], later).must_be_at(0)
        for done in range(partition + 1):
            wire.produce(topic, first[done], done).must_be_refused(*OLD_EPOCH)
    wire.produce(topic, producer.batch("second", sequence=1), 2).must_be_at(1)
    too_far = producer.batch("too far", sequence=1, epoch=1)
    wire.produce(topic, too_far, 2).must_be_refused(*NOT_NEXT)
    wire.produce(topic, producer.batch("raised", sequence=0, epoch=1), 2).must_be_at(2)
    wire.read_all(topic, 2).must_hold("first of 2", "second", "raised")


@case(
    "idempotence/deleted-records-and-others",
    guarantees=["idem-012", "idem-002", "idem-015"],
    apis={"InitProducerId": 0, "DeleteRecords": 0},
    level="should",
    needs=["topic-settings"],
    detects=["M10"],
)
def producers_are_known_whatever_was_deleted(wire, topic_of):
    """Where DeleteRecords takes whole segments, a producer whose newest batches are gone and one whose batches are left
    SHOULD both be known: their retries are duplicates, a gap is refused, and each goes on with its next sequence.
    """
    topic = topic_of(configs={"segment.ms": "60000"})
    gone, left = wire.producer(), wire.producer()
    hour, now = 3_600_000, wire.now_ms()
    batches = {}
    for number in range(6):
        producer = gone if number < 3 else left
        made = producer.batch(f"{number}", sequence=number % 3, timestamp=now - (9 - number) * hour)
        wire.produce(topic, made).must_be_at(number)
        batches[number] = made
    wire.delete_records(topic, offset=4).must_succeed()
    for number in range(6):
        with wire.part(f"batch {number}"):
            wire.produce(topic, batches[number]).must_be_at(number)
    for producer in (gone, left):
        wire.produce(topic, producer.batch("gap", sequence=4)).must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    wire.produce(topic, gone.batch("6", sequence=3)).must_be_at(6)
    wire.produce(topic, left.batch("7", sequence=3)).must_be_at(7)
    wire.read_all(topic).must_hold("4", "5", "6", "7")
