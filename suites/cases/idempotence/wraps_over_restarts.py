"""Batches whose sequences wrap, as partitions know them once they have been stopped, killed and rolled (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.records import Record

HOUR_MS, WRAP = 3_600_000, 1 << 31
PRODUCERS, MOST = 4, 6
DESCRIBED = "topics[0].partitions[0].active_producers"


@case(
    "idempotence/wraps-are-known-over-restarts",
    guarantees=["idem-002", "idem-007", "idem-010"],
    apis={"InitProducerId": 0},
    needs=["topic-settings", "leaders", "kill", "terminate", "restart"],
    detects=["B116"],
)
def a_batch_that_wraps_is_known_after_a_restart(wire, topic_of, rng, nodes):
    """The newest batch of a producer, sent again, MUST be acknowledged with its offset and not appended after the
    partition was stopped, was killed, or began a new segment, wherever in the batch its sequences go on from 2147483647
    with 0. The next sequence MUST be accepted and one behind it refused (45); DescribeProducers MUST return the last.

    Four producers before each restart, three of which wrap within a batch, at its first record or at its last; what
    those of before wrote is asked for again too. The partition has been written to (KAFKA-15591).
    """
    topic = topic_of(configs={"segment.ms": "60000"})
    known = Wrapping(wire, topic, rng)
    acts = [nodes.stop_and_start, nodes.crash, rng.choice([nodes.stop_and_start, nodes.crash])]
    for act in rng.sample(acts, 3):
        for number in range(PRODUCERS):
            known.comes(number)
        if rng.random() < 0.5:
            known.rolls()
        act(nodes.of(topic))
        wire.await_topic(topic)
        known.must_be_known()


class Wrapping:
    """The newest batch of each producer, and where the log ends."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng = wire, topic, rng
        self.time = wire.now_ms() - 10 * HOUR_MS  # not long enough ago for a producer to be forgotten
        self.newest = []
        """(producer, its batch, the offset of it, its last sequence)."""
        self.end = 0
        self.rolls()

    def rolls(self):
        """A record of an hour later, with which a segment begins."""
        self.time += HOUR_MS
        self.wire.produce(self.topic, batch("rolls", timestamp=self.time)).must_be_at(self.end)
        self.end += 1

    def comes(self, number):
        """A producer that is not known there, whose first sequence may be any; the last of four does not wrap."""
        count = self.rng.randint(2, MOST)
        within = (1, count - 1, self.rng.randint(1, count - 1), count)[number]
        self._write(self.wire.producer(), WRAP - within, count, f"p{len(self.newest)}", self.newest.append)

    def must_be_known(self):
        for producer, made, offset, last in self.newest:
            after = (last + 1) % WRAP
            with self.wire.part(f"a batch that ends at sequence {last}"):
                self.wire.produce(self.topic, made).must_be_at(offset)
                gap = producer.batch("gap", sequence=(after + 1) % WRAP)
                self.wire.produce(self.topic, gap).must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
        self._must_be_described()
        self.wire.list_offsets(self.topic).must_name(offset=self.end)
        for number in self.rng.sample(range(len(self.newest)), 2):
            producer, *_, last = self.newest[number]
            self._write(
                producer,
                (last + 1) % WRAP,
                self.rng.randint(1, 3),
                "next",
                lambda one, at=number: self.newest.__setitem__(at, one),
            )

    def _write(self, producer, first, count, value, keep):
        records = [Record(None, f"{value}.{number}".encode(), (), self.time) for number in range(count)]
        made = producer.batch(records=records, sequence=first)
        self.wire.produce(self.topic, made).must_be_at(self.end)
        keep((producer, made, self.end, (first + count - 1) % WRAP))
        self.end += count

    def _must_be_described(self):
        if not self.wire.versions("DescribeProducers"):
            return
        answer = self.wire.describe_producers(self.topic).must_succeed()
        found = {row.producer_id: row.last_sequence for row in answer.at(DESCRIBED)}
        wanted = {producer.id: last for producer, _, _, last in self.newest}
        answer.must(found == wanted, f"the last sequences are {found}; they must be {wanted}", DESCRIBED)
