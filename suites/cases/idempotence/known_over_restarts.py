"""What partitions know of producers, over restarts and several segments, in every detail that is described (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.idempotence.drawn import NOT_NEXT, OLD_EPOCH, WINDOW
from brokertrial.wire.records import Record

HOUR_MS = 3_600_000
PRODUCERS = "topics[0].partitions[0].active_producers"
STEPS = (*["next"] * 5, "again", "gap", "new epoch", "old epoch", *["join"] * 2, "end")
FIELDS = ("producer_epoch", "last_sequence", "last_timestamp", "coordinator_epoch", "current_txn_start_offset")


class Known:
    """What one partition must know of one producer."""

    def __init__(self):
        self.epoch = self.next = 0
        self.batches, self.before = [], []
        """(bytes, offset, the time of it that was answered, its newest time), of this epoch; bytes of epochs before."""
        self.may_be_forgotten = set()
        """Offsets of batches that were not the newest at a restart."""


@case(
    "idempotence/known-over-restarts",
    guarantees=["idem-002", "idem-003", "idem-005", "idem-007", "idem-009", "txn-026"],
    apis={"InitProducerId": 0, "EndTxn": 0},
    needs=["topic-settings", "leaders", "kill", "terminate", "restart"],
    detects=["L12", "L13"],
)
def a_restart_changes_nothing_of_what_is_known(wire, topic_of, rng, nodes):
    """Whatever producers sent, a partition MUST know after a stop and after a kill what it knew: the newest batch of a
    producer with its offset and the broker's time, the next sequence, and the epochs that are over; the four batches
    before it MUST be known as well, or be refused where they are from before a restart. DescribeProducers MUST return
    for each producer its epoch, its last sequence, the time of its newest batch, where its transaction began, and the
    epoch of the coordinator that ended one.

    Three producers and a transactional one, two topics, of which one has the broker's times; batches of drawn times in
    several segments. Four times 25 drawn steps, and between them a stop, a kill and a stop.
    """
    stamps = {"message.timestamp.type": "LogAppendTime"}
    topics = [topic_of(what=what, configs={"segment.ms": "60000", **more}) for what, more in (("t", {}), ("s", stamps))]
    kept = KnownProducers(wire, rng, topics)
    for act in (nodes.stop_and_start, nodes.crash, nodes.stop_and_start, None):
        for _ in range(25):
            kept.step(rng.choice(topics), rng.choice(STEPS))
        kept.must_be_known()
        if act is not None:
            act(nodes.of(rng.choice(topics)))
            for topic in topics:
                wire.await_topic(topic)
            kept.have_been_through_a_restart()
            kept.must_be_known()


class KnownProducers:
    """The steps, and the questions."""

    def __init__(self, wire, rng, topics):
        self.wire, self.rng, self.topics = wire, rng, topics
        self.producers = [wire.producer() for _ in range(3)]
        self.known = {(topic, number): Known() for topic in topics for number in range(3)}
        self.ends = dict.fromkeys(topics, 0)
        self.joining = wire.producer(wire.name("x"), timeout_ms=300_000)
        self.rows = {}
        """topic -> what must be returned of the transactional producer there."""

    def step(self, topic, step):
        if step == "join":
            return self._join(topic)
        if step == "end":
            return self._end()
        number = self.rng.randrange(3)
        one, producer = self.known[topic, number], self.producers[number]
        if step == "again" and one.batches:
            self._again(topic, one, self.rng.choice(one.batches[-WINDOW:]))
        elif step == "gap" and one.batches:
            made = producer.batch("gap", sequence=one.next + self.rng.randint(1, 9), epoch=one.epoch)
            self.wire.produce(topic, made).must_be_refused(*NOT_NEXT)
        elif step == "old epoch" and one.before:
            self.wire.produce(topic, self.rng.choice(one.before)).must_be_refused(*OLD_EPOCH)
        elif step in ("next", "new epoch"):
            if step == "new epoch" and one.batches:
                one.before += [made for made, *_ in one.batches]
                one.epoch, one.next, one.batches = one.epoch + 1, 0, []
            self._next(topic, one, producer)

    def _next(self, topic, one, producer):
        """One to three records, of any time of the last 20 hours: which begins a new segment now and then."""
        times = [self.wire.now_ms() - self.rng.randint(0, 20 * HOUR_MS) for _ in range(self.rng.randint(1, 3))]
        records = [Record(None, b"%d" % self.ends[topic], (), time) for time in times]
        made = producer.batch(records=records, sequence=one.next, epoch=one.epoch)
        answer = self.wire.produce(topic, made).must_be_at(self.ends[topic])
        stamp = answer.log_append_time
        one.batches.append((made, self.ends[topic], stamp, max(times) if stamp < 0 else stamp))
        one.next += len(times)
        self.ends[topic] += len(times)

    def _join(self, topic):
        """A batch of a transaction, which begins here where it has none yet."""
        at, before = self.ends[topic], self.rows.get(topic)
        sequence, time = self.joining.sequences.get((topic, 0), 0), self.wire.now_ms()
        answer = self.joining.send(topic, f"{at}").must_be_at(at)
        began = before[4] if before and before[4] >= 0 else at
        stamp = answer.log_append_time
        newest = self.wire.fetch(topic, offset=at).batches[-1].header.max_timestamp if stamp < 0 else stamp
        answer.must(stamp >= 0 or abs(newest - time) < HOUR_MS, f"the batch at {at} has the time {newest}", "responses")
        self.rows[topic] = (self.joining.epoch, sequence, newest, before[3] if before else -1, began)
        self.ends[topic] += 1

    def _end(self):
        """A marker in each of its partitions; its epoch, its time and its coordinator are those that are described."""
        mine = [topic for topic, row in self.rows.items() if row[4] >= 0]
        if not mine:
            return
        (self.joining.commit() if self.rng.random() < 0.5 else self.joining.abort()).must_succeed()
        for topic in mine:
            self.wire.await_settled(topic)
            part = self.wire.fetch(topic, offset=self.ends[topic]).batches[-1]
            part_of = (part.header.is_control, part.header.producer_id)
            self.wire.must(part_of == (True, self.joining.id), f"no marker lies at {self.ends[topic]} of {topic}")
            raised = part.header.producer_epoch != self.rows[topic][0]
            last = -1 if raised else self.rows[topic][1]
            coordinator = part.marker().coordinator_epoch
            self.rows[topic] = (part.header.producer_epoch, last, part.header.max_timestamp, coordinator, -1)
            self.ends[topic] += 1

    def _again(self, topic, one, sent):
        """Apache Kafka writes down the newest batch alone (ProducerStateManager.writeSnapshot)."""
        made, offset, stamp, _ = sent
        answer = self.wire.produce(topic, made)
        if answer.error in NOT_NEXT and offset in one.may_be_forgotten:
            return
        answer.must_be_at(offset)
        if stamp >= 0:
            returned = answer.log_append_time
            answer.must(returned == stamp, f"log_append_time is {returned}; it was {stamp} the first time", "responses")

    def have_been_through_a_restart(self):
        for one in self.known.values():
            one.may_be_forgotten |= {offset for _, offset, *_ in one.batches[:-1]}

    def must_be_known(self):
        for (topic, _), one in self.known.items():
            for sent in self.rng.sample(one.batches[-WINDOW:], len(one.batches[-WINDOW:])):
                self._again(topic, one, sent)
            if one.before:
                self.wire.produce(topic, self.rng.choice(one.before)).must_be_refused(*OLD_EPOCH)
        for topic in self.topics:
            self.wire.list_offsets(topic).must_name(offset=self.ends[topic])
            if self.wire.versions("DescribeProducers"):
                self._must_be_described(topic)

    def _must_be_described(self, topic):
        answer = self.wire.describe_producers(topic).must_succeed()
        described = {row.producer_id: tuple(getattr(row, field) for field in FIELDS) for row in answer.at(PRODUCERS)}
        wanted = {
            self.producers[number].id: (one.epoch, one.next - 1, one.batches[-1][3], -1, -1)
            for (name, number), one in self.known.items()
            if name == topic and one.batches
        }
        if topic in self.rows:
            wanted[self.joining.id] = self.rows[topic]
        answer.must(described == wanted, f"by producer {FIELDS} are {described}; they must be {wanted}", PRODUCERS)
