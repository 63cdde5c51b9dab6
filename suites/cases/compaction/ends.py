"""The end of a log whose last records have been cleaned away: new replicas reach that end."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, cleanable
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition
from brokertrial.suites.cases.replication.elections import leads_again
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request
from brokertrial.wire.records import Record

KEYS = (b"k0", b"k1", b"k2")
ANSWERED_S, CLEANED_S = 0.5, 3
"""What the follower has asked for is answered by then, with nothing. A cleaner that takes longer is not seen to fail;
cleaners look every half second."""
PATIENT = {"replica.lag.time.max.ms": "60000", "broker.session.timeout.ms": "12000"}
"""A follower that stands still while the leader's log is cleaned is in sync for so long."""
ALONE = {"min.insync.replicas": "1"}


@case(
    "compaction/the-end-outlives-what-was-last",
    guarantees=["comp-002", "comp-003", "repl-002", "repl-009"],
    needs=[
        *("three-nodes", "chosen-settings", "started", "leaders", "topic-settings", "compaction"),
        *("kill", "pause", "terminate", "restart"),
    ],
    apis={"AlterPartitionReassignments": 0, "ElectLeaders": 1, "Metadata": 5},
    detects=["K28"],
)
def a_new_replica_comes_to_the_end(wire, nodes, rng):
    """However much of the end of a log has been cleaned away, every reader MUST reach its end, a new replica MUST reach
    the same end and be in sync, and no offset MUST be given twice once it leads.

    Three rounds: null values come last, then nothing new, then one or the other, or values. One more record begins a
    segment, at the leader alone, whose log is cleaned and which is killed then: it loses that record to the next
    leader, and its newest segment is empty. It leads again, and a new replica is placed, which leads from then on.
    Kafka dates a null value at its first cleaning and removes it at a later one (KIP-534), which is the first one of a
    replica that has copied it.
    """
    nodes.start_with(PATIENT)
    log = EndingLog(wire, rng, nodes)
    for what in ("nulls", "nothing", rng.choice(("nulls", "values", "nothing"))):
        if what != "nothing":
            log.write(None if what == "nulls" else b"last")
        log.lose_the_newest()
        log.move()
    log.write(b"after")
    log.must_be_whole()


class EndingLog:
    """One partition on two nodes, the first of which leads it; the third has nothing of it."""

    def __init__(self, wire, rng, nodes):
        self.wire, self.rng, self.nodes = wire, rng, nodes
        self.leads, self.follows, self.without = rng.sample(wire.nodes, 3)
        self.topic = cleanable(wire, self._placed, **ALONE)
        self.end, self.time = 0, wire.now_ms() - 1_000 * HOUR_MS
        self.latest = {}

    def _placed(self, configs):
        topic, on = self.wire.name("ends"), [self.leads, self.follows]
        self.wire.create_topic(topic, partitions=-1, assignments={0: on}, configs=configs).must_succeed()
        self.wire.await_topic(topic)
        return topic

    def _batch(self, records):
        """Dated two hours after the one before: it begins a segment."""
        self.time += 2 * HOUR_MS
        return batch(records=[Record(key, value, (), self.time) for key, value in records])

    def write(self, last):
        """Values of each key twice, then those that come last, of some keys."""
        some = self.rng.sample(KEYS, self.rng.randint(1, 3))
        values = [(key, b"%d" % self.end) for key in KEYS]
        for records in (values * 2, [(key, last) for key in some]):
            self.wire.produce(self.topic, self._batch(records)).must_be_at(self.end)
            self.latest |= {key: (self.end + n, value) for n, (key, value) in enumerate(records)}
            self.end += len(records)

    def lose_the_newest(self):
        """A record that begins a segment comes to the leader alone, what is below it is cleaned, and the leader dies
        with it; where the follower was taken to be out of sync meanwhile, the record stays. Nothing is read before: a
        reader that cannot come to the end would wait until that is so."""
        all_in_sync(self.wire, self.topic)
        self.nodes.pause(self.follows)
        self.wire.rest(ANSWERED_S)
        self.wire.produce(self.topic, self._batch([(b"lost", b"")]), acks=1).must_be_at(self.end)
        self.wire.rest(CLEANED_S)
        self.nodes.kill(self.leads)
        self.nodes.resume(self.follows)
        self.nodes.start(self.leads)
        self.wire.await_topic(self.topic)
        self._led_by_the_first()
        if self.wire.log_end(self.topic) == self.end + 1:
            self.latest[b"lost"] = (self.end, b"")
            self.end += 1
        self.must_be_whole()

    def move(self):
        """The third node takes the place of the follower, comes to the end, and leads."""
        self.leads, self.follows, self.without = self.without, self.leads, self.follows
        on = [self.leads, self.follows]
        parts = [{"partition_index": 0, "replicas": on}]
        asked = request(
            "AlterPartitionReassignments", timeout_ms=10_000, topics=[{"name": self.topic, "partitions": parts}]
        )
        self.wire.ask(asked, to=self.wire.controller).must_succeed()
        self.wire.until(
            lambda: self._is_on(on),
            within=WITHIN_S,
            what=f"both replicas of {self.topic}, {on}, have come to its end at {self.end} and are in sync",
        )
        self._led_by_the_first()
        self.must_be_whole()

    def _is_on(self, on):
        row = partition(self.wire, self.topic)
        return row.replica_nodes == on and sorted(row.isr_nodes) == sorted(on) and row.leader_id in on

    def _led_by_the_first(self):
        all_in_sync(self.wire, self.topic)
        self.wire.until(
            lambda: leads_again(self.wire, self.topic, self.leads),
            within=WITHIN_S,
            what=f"node {self.leads} leads {self.topic}",
        )

    def must_be_whole(self):
        """It ends where it must, and holds of each key the latest that is not null."""
        self.wire.list_offsets(self.topic).must_name(offset=self.end)
        log = self.wire.read_all(self.topic)
        held = {record.key: (record.offset, record.value) for record in log.records}
        for key, was in self.latest.items():
            found = held.get(key, (None, None))
            right = found == was or (was[1] is None and found == (None, None))
            log.must(right, f"the latest of {key!r} is {found} (offset, value); it was {was}")
