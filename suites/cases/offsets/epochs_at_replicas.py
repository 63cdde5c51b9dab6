"""Leader epochs as each replica knows them, those that it was not there for among them (KIP-101, KIP-320, KIP-392)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._led_in_turn import APIS as MOVES
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.fetch import Fetched
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire import errors
from brokertrial.wire.messages import request

DIVERGING_SINCE, UNKNOWN = 12, (-1, -1)


@case(
    "offsets/epochs-at-every-replica",
    guarantees=["repl-008", "repl-009", "fetch-012"],
    apis={"Fetch": DIVERGING_SINCE, "OffsetForLeaderEpoch": 2, "CreateTopics": 5, **MOVES},
    needs=["three-nodes", "leaders", "topic-settings", "kill", "restart"],
    detects=["B96", "B99"],
)
def each_replica_knows_where_each_epoch_ends(wire, nodes, rng):
    """A consumer that sends the epoch of its last record with Fetch (v12) MUST be answered by every replica that
    serves it, the leader or not, with the epoch and the offset where the log parts from what it has read, and with
    records where it does not. A replica that was away while several leaders wrote MUST know the end of each of their
    epochs, also when it leads.

    One node is dead while two others lead in turn and write, each time, a batch or two.
    """
    one, two, away = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [one, two, away], **{"min.insync.replicas": "1"})
    all_in_sync(wire, topic)
    wire.produce(topic, batch("first")).must_be_at(0)
    nodes.kill(away)
    wire.until(lambda: away not in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"{away} is out of sync")
    for turn in range(5):
        leader, other = (one, two) if turn % 2 else (two, one)
        comes_to_lead(wire, topic, [leader, other, away], one)
        for _ in range(rng.randint(1, 2)):
            wire.produce(topic, batch(*["more"] * rng.randint(1, 3))).must_succeed()
    nodes.start(away)
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    epochs = Epochs(wire, topic, rng)
    epochs.must_be_known_to_all()
    comes_to_lead(wire, topic, [away, *rng.sample((one, two), 2)], one)
    wire.refresh_metadata(topic)
    epochs.must_end()
    epochs.must_be_known_to_all()


class Epochs:
    """Where each epoch of the log began and ended, by the batches that the leader returns."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng = wire, topic, rng
        began: dict[int, int] = {}
        for part in wire.read_all(topic).batches:
            began.setdefault(part.header.leader_epoch, part.header.base_offset)
        self.end = wire.log_end(topic)
        self.ends = dict(zip(began, [*list(began.values())[1:], self.end], strict=True))

    def must_end(self):
        """By what the leader answers."""
        for epoch, end in self.ends.items():
            self.wire.eventually(lambda epoch=epoch, end=end: self._must_end(epoch, end), within=WITHIN_S)

    def _must_end(self, epoch, end):
        answer = self.wire.offset_for_leader_epoch(self.topic, epoch=epoch).must_succeed()
        row = answer.struct.topics[0].partitions[0]
        found = (row.leader_epoch, row.end_offset)
        answer.must(found == (epoch, end), f"epoch {epoch} ends as {found}; it must be {(epoch, end)}", "topics")

    def must_be_known_to_all(self):
        """Asked at each end, beside it, and at the end of the log, in a drawn version."""
        for node in self.wire.nodes:
            with self.wire.part(f"node {node}"):
                for epoch, end in self.ends.items():
                    for offset in sorted({0, end - 1, end, end + 1, self.end, self.end + 1}):
                        how = (node, epoch, end, offset)
                        again = same_draws(self.rng, self._must_part, *how)
                        self.wire.eventually(again, within=WITHIN_S)

    def _must_part(self, node, epoch, end, offset):
        answer = self._fetched(node, epoch, offset)
        if answer.error == errors.NOT_LEADER_OR_FOLLOWER and node != self.wire.leader(self.topic):
            self.wire.not_applicable("followers do not serve consumers: what they know of epochs does not show")
        diverging = answer.must_succeed().at(f"{answer.row}.diverging_epoch")
        found, wanted = (diverging.epoch, diverging.end_offset), (epoch, end) if end < offset else UNKNOWN
        answer.must(
            found == wanted,
            f"to who is at {offset}, and has read up to epoch {epoch} last, node {node} names {found} as epoch and end "
            f"of where the log parts; it must be {wanted}",
            answer.row,
        )
        due = offset < self.end and wanted == UNKNOWN
        answer.must(bool(answer.records) == due, f"at {offset} it returns {answer.offsets}", answer.row)

    def _fetched(self, node, epoch, offset):
        versions = [each for each in self.wire.versions("Fetch") if each >= DIVERGING_SINCE]
        part = {
            "partition": 0,
            "current_leader_epoch": -1,
            "fetch_offset": offset,
            "last_fetched_epoch": epoch,
            "partition_max_bytes": 1 << 20,
        }
        asked = request(
            "Fetch",
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=1 << 20,
            session_epoch=-1,
            topics=[{"topic": self.topic, "topic_id": self.wire.topic_id(self.topic), "partitions": [part]}],
        )
        return self.wire.ask_as(Fetched, asked, version=self.rng.choice(versions), to=node)
