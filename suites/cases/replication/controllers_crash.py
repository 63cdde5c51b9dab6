"""Controllers that are killed and begin anew, with a broker dead and a partition on the move: nothing is forgotten."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, on_the_move, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.wire import errors

ALONE = {"min.insync.replicas": "1"}
IDS = 3
SETTINGS = {"max.message.bytes": "70000", "retention.ms": "86400001"}


@case(
    "replication/admin-changes-outlive-controllers",
    guarantees=["kraft-006", "idem-001", "adm-014", "kraft-005", "repl-007"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={
        "CreateTopics": 5,
        "CreatePartitions": 0,
        "DeleteTopics": 1,
        "IncrementalAlterConfigs": 0,
        "AlterPartitionReassignments": 0,
        "ListPartitionReassignments": 0,
        "InitProducerId": 0,
        "Metadata": 10,
    },
    detects=["D70", "D71", "D72", "D73"],
)
def what_was_changed_stays_changed(wire, nodes, rng):
    """What an administrator's request has changed MUST outlive a crash of the controllers: topics with their ids,
    partitions, replicas, settings and leaders, deletions, and a reassignment that is under way, which goes on.

    A node is dead meanwhile: controllers that have not heard of it yet MUST NOT take it for alive, and MUST place
    replicas on it where a new topic has as many as there are nodes. Producer ids that were given out MUST NOT be given
    out again, leader epochs MUST NOT fall, and one node alone leads in each.
    """
    everyone = list(wire.nodes)
    cluster = ChangedCluster(wire, everyone, dead=rng.choice(everyone))
    nodes.kill(cluster.dead)
    cluster.await_its_fall()
    cluster.change(rng)
    before = wire.eventually(cluster.changed, within=WITHIN_S)
    nodes.crash_controllers()
    cluster.must_be(before, leaders=True)
    cluster.place_on_all()
    for node in cluster.alive:  # where brokers are controllers, these were theirs
        nodes.crash(node)
        cluster.must_be(before, leaders=False)
    nodes.start(cluster.dead)
    cluster.must_move_on()
    cluster.must_be_usable(before)


class ChangedCluster:
    """Topics of all kinds in a cluster of which one node dies."""

    def __init__(self, wire, everyone, dead):
        self.wire, self.dead = wire, dead
        self.alive = [node for node in everyone if node != dead]
        self.led = placed(wire, "led", [dead, *self.alive], **ALONE)
        self.kept = placed(wire, "kept", [*self.alive, dead], **ALONE)
        self.set, self.gone, self.again = (placed(wire, name, self.alive) for name in ("set", "gone", "again"))
        self.moving = placed(wire, "moving", [self.alive[0]])
        self.topics = [self.led, self.kept, self.set, self.gone, self.again, self.moving]
        self.ids = [row.topic_id for row in wire.metadata(*self.topics).struct.topics]
        self.given = []
        self.leaders = {}
        """(topic, partition, leader epoch) -> who led in it."""
        self.take_ids(everyone)

    def take_ids(self, of):
        """Producer ids of each node, each for the first time."""
        for node in of:
            for _ in range(IDS):
                answer = self.wire.init_producer_id(to=node)
                answer.must(answer.producer_id not in self.given, f"{answer.producer_id} was given out before")
                self.given.append(answer.producer_id)

    def await_its_fall(self):
        """Until each node that is alive knows that the dead one leads nothing and is in sync nowhere."""
        self.wire.eventually(self._must_have_lost, within=WITHIN_S)

    def _must_have_lost(self):
        for node in self.alive:
            answer = self.wire.metadata(*self.topics, to=node)
            for row in answer.struct.topics:
                for part in row.partitions:
                    off = self.dead not in part.isr_nodes and part.leader_id not in (self.dead, NO_NODE)
                    answer.must(off, f"{row.name} is led by {part.leader_id} of {part.isr_nodes}, {self.dead} is dead")

    def change(self, rng):
        """Everything that an administrator may change; the last partition is to move to the node that is dead."""
        wire = self.wire
        wire.create_partitions(self.kept, 3, assignments=[[*self.alive, self.dead]] * 2).must_succeed()
        wire.change_configs(TOPIC, self.set, [(name, SET, value) for name, value in SETTINGS.items()]).must_succeed()
        wire.change_configs(TOPIC, self.led, [("min.insync.replicas", DELETE, None)]).must_succeed()
        for topic in (self.gone, self.again):
            wire.delete_topic(topic).must_succeed()
        self.topics.remove(self.gone)
        wire.create_topic(self.again, partitions=-1, assignments={0: self.alive, 1: self.alive[::-1]}).must_succeed()
        reassign(wire, {self.moving: [self.alive[0], self.dead]}, rng.choice(self.alive))

    def changed(self):
        """What each node that is alive shows, once all changes have come to it."""
        shown = [self.seen_by(node) for node in self.alive]
        for one in shown:
            counts = {topic: len(parts) for topic, (_, _, parts) in one.items()}
            right = dict.fromkeys(self.topics, 1) | {self.kept: 3, self.again: 2}
            self.wire.must(counts == right, f"topics have {counts} partitions; it must be {right}")
            replicas, both = sorted(one[self.moving][2][0][0]), sorted([self.alive[0], self.dead])
            self.wire.must(replicas == both, f"{self.moving} is on {replicas}; it is to be on {both}")
            settings = {name: one[self.set][1][name] for name in SETTINGS}
            self.wire.must(settings == SETTINGS, f"settings are {settings}; it must be {SETTINGS}")
        self.wire.must(shown[0] == shown[1], f"nodes {self.alive} show {shown}; it must be the same")
        return shown[0]

    def seen_by(self, node):
        """Topic -> (id, settings, partitions), and what is on the move."""
        answer = self.wire.metadata(*self.topics, self.gone, to=node)
        shown = {}
        for row in answer.struct.topics:
            if row.name == self.gone:
                answer.must(row.error_code == errors.UNKNOWN_TOPIC_OR_PARTITION, f"{self.gone}, deleted, is there")
                continue
            answer.must(not row.error_code, f"{row.name} is answered with {row.error_code}")
            parts = [
                (part.replica_nodes, sorted(part.isr_nodes), part.leader_id, part.leader_epoch)
                for part in sorted(row.partitions, key=lambda part: part.partition_index)
            ]
            for index, (_, _, leader, epoch) in enumerate(parts):
                first = self.leaders.setdefault((row.name, index, epoch), leader) if leader != NO_NODE else NO_NODE
                answer.must(
                    leader in (first, NO_NODE),
                    f"{row.name}-{index} is led by {leader} in epoch {epoch}, in which {first} led it",
                )
            shown[row.name] = (row.topic_id, self.wire.configs_of_topic(row.name), parts)
        moving, answer = on_the_move(self.wire, node)
        answer.must(moving == [self.moving], f"on the move are {moving}; it must be {self.moving} alone")
        return shown

    def must_be(self, before, *, leaders):
        """Each node shows all as it was; after brokers were killed too, others may lead, in a higher epoch."""
        for node in self.alive:
            self.wire.eventually(lambda at=node: self._must_be_shown(at, before, leaders), within=WITHIN_S)

    def _must_be_shown(self, node, before, leaders):
        shown = self.seen_by(node)
        for topic, (was_id, settings, parts) in before.items():
            now_id, now_settings, now_parts = shown[topic]
            self.wire.must(now_id == was_id, f"the id of {topic} was {was_id} and is {now_id}")
            self.wire.must(now_settings == settings, f"the settings of {topic} were {settings} and are {now_settings}")
            self.wire.must(len(parts) == len(now_parts), f"{topic} has {len(now_parts)} of {len(parts)} partitions")
            for was, now in zip(parts, now_parts, strict=True):
                if leaders:
                    self.wire.must(now == was, f"{topic} had (replicas, in sync, leader, epoch) {was} and has {now}")
                self.wire.must(now[0] == was[0], f"the replicas of {topic} were {was[0]} and are {now[0]}")
                self.wire.must(now[2] in self.alive, f"{topic} is led by {now[2]}, which is not among {self.alive}")
                self.wire.must(now[3] >= was[3], f"the leader epoch of {topic} was {was[3]} and is {now[3]}")

    def place_on_all(self):
        """The dead node counts for what is placed now: it is a member of the cluster (KAFKA-13841)."""
        wire = self.wire
        wire.create_topic(wire.name("placed"), replicas=len(self.alive) + 1, configs=ALONE).must_succeed()

    def must_move_on(self):
        """The move ends now that the node is back."""
        self.wire.until(
            lambda: not on_the_move(self.wire, self.alive[0])[0], within=WITHIN_S, what="the reassignment ends"
        )
        part = self.wire.refresh_metadata(self.moving).topics[0].partitions[0]
        wanted = [self.alive[0], self.dead]
        self.wire.must(part.replica_nodes == wanted, f"it moved to {part.replica_nodes}; it was to be {wanted}")

    def must_be_usable(self, before):
        """Each partition takes a record, the deleted topic can be created again, and what is given out now is new."""
        wire = self.wire
        self.take_ids([*self.alive, self.dead])
        wire.create_topic(self.gone, partitions=-1, assignments={0: self.alive}).must_succeed()
        wire.await_topic(self.gone)
        row = wire.refresh_metadata(self.gone).topics[0]
        wire.must(row.topic_id not in self.ids, f"{self.gone} was created with {row.topic_id}, the id of another topic")
        wire.until(self._whole, within=WITHIN_S, what="every replica is in sync")
        for topic, (_, _, parts) in before.items():
            for index in range(len(parts)):
                wire.produce(topic, batch("a"), index).must_be_at(0)
                wire.read_all(topic, index).must_hold("a")

    def _whole(self):
        topics = self.wire.metadata(*self.topics).struct.topics
        return all(set(part.isr_nodes) == set(part.replica_nodes) for row in topics for part in row.partitions)
