"""Brokers with racks, and consumers that are sent to the replica in theirs (KIP-392)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire.messages import request

RACK, SELECTOR = "broker.rack", "replica.selector.class"
BY_RACK = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
FOLLOWED_SINCE, HERE, WAIT_MS = 11, -1, 20_000
ALONE = {"min.insync.replicas": "1"}


@case(
    "replication/readers-are-sent-to-their-rack",
    guarantees=["fetch-012", "fetch-008"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "chosen-settings", "terminate", "kill", "restart"],
    apis={"Fetch": FOLLOWED_SINCE},
    detects=["K42", "K43", "D89", "Z57"],
)
def who_has_a_rack_is_sent_to_the_replica_there(wire, nodes, rng):
    """Where brokers have racks and select replicas by them, the leader MUST direct a consumer that names the rack of an
    in-sync follower to it, at once and without records, whether there are any or it would have to wait; it MUST return
    the records itself to a consumer that names another rack or none, and to all while that follower is dead. A follower
    MUST return the records to whoever asks it, whatever his rack.

    Asked in drawn versions; when the follower is back, consumers are directed to it again.
    """
    for node in wire.nodes:
        nodes.start_with({RACK: f"rack {node}", SELECTOR: BY_RACK}, only=[node])
    leader, near, other = rng.sample(list(wire.nodes), 3)
    topic = placed(wire, "read", [leader, near, other], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("a")).must_be_at(0)
    reader = RackReader(wire, topic, leader, rng)

    for offset in (0, 1):
        for follower in (near, other):
            sent = same_draws(rng, reader.must_be_sent, follower, offset)
            wire.eventually(sent, within=20)
    wire.fetch(topic, offset=0, to=near).must_hold("a")
    for rack in (f"rack {leader}", "rack of nobody", ""):
        reader.must_be_served(rack)
    for rack in (f"rack {near}", f"rack {leader}", f"rack {other}", "rack of nobody", ""):
        RackReader(wire, topic, near, rng).must_be_served(rack)
    nodes.kill(near)
    wire.until(
        lambda: near not in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"node {near} is out of sync"
    )
    wire.eventually(same_draws(rng, reader.must_be_served, f"rack {near}"), within=20)
    reader.must_be_sent(other, 0)
    nodes.start(near)
    all_in_sync(wire, topic)
    wire.eventually(same_draws(rng, reader.must_be_sent, near, 0), within=WITHIN_S)


class RackReader:
    """Asks a replica, the leader mostly, in the name of a rack."""

    def __init__(self, wire, topic, replica, rng):
        self.wire, self.topic, self.replica, self.rng = wire, topic, replica, rng

    def _asked(self, rack, offset):
        return self._fetched(self._drawn(), rack, offset, 0, -1)

    def _drawn(self):
        return self.rng.randint(FOLLOWED_SINCE, max(self.wire.versions("Fetch")))

    def _asked_in_a_session(self, rack, offset):
        """Its first fetch and one that names no partition; none where the broker keeps no sessions."""
        version = self._drawn()
        first = self._fetched(version, rack, offset, 0, 0)
        if (session := first.struct.session_id) == 0:
            return []
        return [first, self._fetched(version, rack, None, session, 1)]

    def _fetched(self, version, rack, offset, session, epoch):
        row = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        named = {"topic": self.topic, "topic_id": self.wire.topic_id(self.topic), "partitions": [row]}
        asked = request(
            "Fetch",
            replica_id=-1,
            max_wait_ms=WAIT_MS,
            min_bytes=1,
            max_bytes=1 << 20,
            session_id=session,
            session_epoch=epoch,
            rack_id=rack,
            topics=[] if offset is None else [named],
        )
        return self.wire.ask(asked, to=self.replica, version=version).must_succeed()

    def must_be_sent(self, follower, offset):
        """To a follower, at once; each time that it asks, also in a session in which nothing has changed."""
        rack = f"rack {follower}"
        for answer in (self._asked(rack, offset), *self._asked_in_a_session(rack, offset)):
            self._must_say(answer, follower, records=False)
            self.wire.at_once(answer, hidden_s=WAIT_MS / 1_000)

    def must_be_served(self, rack):
        """With the record, by who was asked."""
        self._must_say(self._asked(rack, 0), HERE, records=True)

    def _must_say(self, answer, where, records):
        rows = [part for each in answer.struct.responses for part in each.partitions]
        found = [(part.preferred_read_replica, bool(part.records)) for part in rows]
        wanted = [(where, records)]
        answer.must(found == wanted, f"(preferred replica, records) are {found}; they must be {wanted}", "responses")
