"""A partition of three replicas as it must be: its records, what its producers may send again, and who holds it."""

from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, replicated, roles
from brokertrial.suites.cases.replication.elections import leads_again
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.core import LEADER_UNSETTLED
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

WINDOW = 5
"""So many batches of a producer are known as its newest."""


class Sender:
    """An idempotent producer, its next sequence, and its newest batches with the offsets they were given."""

    def __init__(self, producer):
        self.producer = producer
        self.next = 0
        self.newest = []

    def made(self, *values):
        """The next batch; it is kept once its offset is known."""
        made = self.producer.batch(*values, sequence=self.next)
        self.next += len(values)
        return made

    def kept(self, made, offset):
        self.newest = [*self.newest, (made, offset)][-WINDOW:]


class Followed:
    """The log: one value for each offset from 0 on, of which those before `start` are deleted."""

    def __init__(self, wire, nodes, rng):
        self.wire, self.nodes, self.rng = wire, nodes, rng
        self.topic = replicated(wire)
        all_in_sync(wire, self.topic)
        self.values, self.start = [], 0
        self.senders = [Sender(wire.producer()) for _ in range(2)]
        self.written = 0

    @property
    def end(self):
        return len(self.values)

    def roles(self):
        """The leader, which is the first replica, so that no election moves it, and its followers in a drawn order."""
        leader, followers = roles(self.wire, self.topic)
        if partition(self.wire, self.topic).replica_nodes[0] != leader:
            self.reordered([leader, *followers])
        return leader, self.rng.sample(followers, len(followers))

    def news(self):
        """The values of the next batch."""
        self.written += 1
        return [f"{self.written}.{number}" for number in range(self.rng.randint(1, 3))]

    @breaks("repl-012")
    def write(self):
        """A batch of a drawn producer, or of one without an id, which every replica in sync must have."""
        sender = self.rng.choice([None, *self.senders])
        if sender is None:
            self.write_plain()
        else:
            values = self.news()
            self.committed(sender, sender.made(*values), values)

    @breaks("repl-012")
    def write_plain(self):
        values = self.news()
        self.wire.produce(self.topic, batch(*values)).must_be_at(self.end)
        self.values += values

    @breaks("repl-012", "idem-008")
    def committed(self, sender, made, values):
        """Sends a batch, for the first time or again: it must be the end of the log, and acknowledged as that."""
        self.wire.produce(self.topic, made).must_be_at(self.end)
        sender.kept(made, self.end)
        self.values += values

    @breaks("idem-008")
    def again(self):
        """Each producer sends one of its newest batches once more: it is answered with its first offset."""
        for sender in self.senders:
            if sender.newest:
                made, offset = self.rng.choice(sender.newest)
                self.wire.produce(self.topic, made).must_be_at(offset)

    def writes_of_each(self):
        """A batch of each producer."""
        for sender in self.senders:
            values = self.news()
            self.committed(sender, sender.made(*values), values)

    @breaks("adm-011", "repl-010")
    def cut(self, to=None):
        """Deletes from the front, up to a drawn offset. A replica that begins anew need not know what is gone."""
        self.start = self.rng.randint(self.start, self.end) if to is None else to
        self.wire.delete_records(self.topic, offset=self.start).must_succeed()
        for sender in self.senders:
            sender.newest = [each for each in sender.newest if each[1] >= self.start]

    def start_again(self, node):
        """Starts a node; of what it knew of a producer before, it may know the newest batch alone: a producer snapshot
        has no more (ProducerStateManager.writeSnapshot)."""
        self.nodes.start(node)
        for sender in self.senders:
            sender.newest = sender.newest[-1:]

    @breaks("repl-007")
    def reordered(self, order):
        """The replicas are these, in this order, and the first of them leads, in a higher epoch if another did."""
        before = partition(self.wire, self.topic)
        rows = [{"name": self.topic, "partitions": [{"partition_index": 0, "replicas": order}]}]
        asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows)
        self.wire.ask(asked, to=self.wire.controller).must_succeed()
        self.wire.until(
            lambda: partition(self.wire, self.topic).replica_nodes == order,
            within=WITHIN_S,
            what=f"the replicas of {self.topic} are {order}",
        )
        all_in_sync(self.wire, self.topic)
        self.wire.until(
            lambda: leads_again(self.wire, self.topic, order[0]),
            within=WITHIN_S,
            what=f"node {order[0]} leads {self.topic}",
        )
        after = partition(self.wire, self.topic)
        self.wire.must(
            after.leader_epoch > before.leader_epoch or after.leader_id == before.leader_id,
            f"node {after.leader_id} leads in epoch {after.leader_epoch}, "
            f"and node {before.leader_id} did in epoch {before.leader_epoch}",
        )

    @breaks("repl-009")
    def must_be_whole(self):
        """Once all replicas are in sync, the log is read from the leader, and from each replica that serves consumers;
        each epoch ends where the next begins."""
        wire, topic = self.wire, self.topic
        wire.await_topic(topic)
        all_in_sync(wire, topic)
        self.again()
        with breaks("fetch-010", "repl-010"):
            wire.list_offsets(topic, at="earliest").must_name(offset=self.start)
            wire.list_offsets(topic).must_name(offset=self.end)
        with breaks("repl-001", "repl-010"):
            log = wire.read_all(topic)
            log.must_have_offsets(range(self.start, self.end)).must_hold(*self.values[self.start :])
        if self.start == self.end:
            return
        for node in partition(wire, topic).replica_nodes:
            self.await_end(node)
            self._must_be_held(node)
        self._epochs_must_end(log)

    @breaks("repl-009")
    def _must_be_held(self, node):
        """The first batch may begin before the log does."""
        seen = self.wire.fetch(self.topic, offset=self.start, to=node).must_succeed()
        held = [(record.offset, record.value) for record in seen.records if record.offset >= self.start]
        wanted = [(self.start + n, value.encode()) for n, value in enumerate(self.values[self.start :])]
        seen.must(held == wanted, f"node {node} holds {held}; it must hold {wanted}", f"{seen.row}.records")

    @breaks("repl-009")
    def await_end(self, node):
        """Waits until a replica knows that all is committed."""

        def knows():
            answer = self.wire.fetch(self.topic, offset=self.end, to=node)
            if answer.error == errors.NOT_LEADER_OR_FOLLOWER:
                self.wire.not_applicable("followers do not serve consumers: what they hold does not show")
            return not answer.error and answer.high_watermark >= self.end

        self.wire.until(knows, within=WITHIN_S, what=f"node {node} knows that {self.topic} ends at {self.end}")

    @breaks("repl-008")
    def _epochs_must_end(self, log):
        ends = {part.header.leader_epoch: part.header.last_offset + 1 for part in log.batches}
        with breaks("repl-007"):
            log.must(sorted(ends) == list(ends), f"the batches carry the epochs {list(ends)}; they must not fall")
        for epoch, end in ends.items():
            answer = self._asked_of(epoch)
            row = answer.struct.topics[0].partitions[0]
            answer.must(
                (row.leader_epoch, row.end_offset) == (epoch, end),
                f"epoch {row.leader_epoch} ends at {row.end_offset}; its last batch ends epoch {epoch} at {end}",
                "topics[0].partitions[0].end_offset",
            )

    def end_of(self, epoch):
        """The log of today's leader when it took over from that of this epoch."""
        return self._asked_of(epoch).struct.topics[0].partitions[0].end_offset

    def _asked_of(self, epoch):
        def answered():
            self.wire.refresh_metadata(self.topic)
            answer = self.wire.offset_for_leader_epoch(self.topic, epoch=epoch)
            return None if answer.error in LEADER_UNSETTLED else answer.must_succeed()

        return self.wire.until(answered, within=WITHIN_S, what=f"a leader reports where epoch {epoch} ends")
