"""Topics and partitions that are created while a node is dead: their replicas, leaders and in-sync replicas."""

from itertools import count

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S
from brokertrial.wire import errors
from brokertrial.wire.messages import request

MORE = 8
ALONE = {"min.insync.replicas": "1"}
"""One that is alive is enough, whatever the cluster's default is."""
REFUSED = errors.INVALID_REPLICA_ASSIGNMENT


@case(
    "replication/placed-while-a-node-is-away",
    guarantees=["adm-004", "adm-007", "kraft-005", "repl-002"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"CreateTopics": 5, "CreatePartitions": 0, "Metadata": 5, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["X04", "X05", "W19", "D92"],
)
def only_the_living_lead_and_are_in_sync(wire, nodes, rng):
    """A partition that is placed while a node is dead, by the client or by the cluster, MUST be on the requested nodes,
    led by the first live one of them, with all live ones in sync and no other, and be usable at once; one on dead nodes
    alone MUST be refused (39). Once the node is back, it MUST be in sync wherever it is a replica.

    Several topics in one request, partitions added to existing ones, and topics deleted and created again under their
    names: when the node that was away leads them, nothing of the old ones is in them.
    """
    everyone = list(wire.nodes)
    made = PlacedTopics(wire, rng, everyone)
    dead = rng.choice(everyone)
    alive = [node for node in everyone if node != dead]
    grown, first, last = made.before(rng.choice(alive)), wire.name("first"), wire.name("last")
    replaced = {first: [dead, *alive], last: [*alive, dead]}
    for topic, on in replaced.items():
        made.by_hand(topic, on)
    made.must_be_as_placed(everyone)
    for topic in replaced:
        for _ in range(MORE):  # than its successor has when the node is back
            made.write(topic)
    nodes.kill(dead)
    wire.until(
        lambda: all(dead not in _brokers(wire, node) for node in alive),
        within=WITHIN_S,
        what=f"each node that is alive has dead node {dead} among the brokers no more",
    )
    made.dead = dead
    for act in (made.several_at_once, made.by_the_cluster):
        act()
        made.must_be_as_placed(alive)  # before anything else is created: that may put right what was wrong
    for topic, on in replaced.items():
        wire.refresh_metadata(topic)
        wire.delete_topic(topic).must_succeed()
        made.by_hand(topic, on)
    made.grow(grown)
    made.must_be_as_placed(alive)
    nodes.start(dead)
    made.dead = None
    made.must_be_as_placed(everyone)
    made.reorder(last, [dead, *alive])
    for topic in dict.fromkeys((*replaced, *made.led_by(dead))):
        wire.until(lambda of=topic: _leads_again(wire, of, dead), within=WITHIN_S, what=f"node {dead} leads {topic}")
    made.must_be_as_placed(everyone)


class PlacedTopics:
    """The partitions that were made: topic -> the replicas of each, None where the cluster chose."""

    def __init__(self, wire, rng, everyone):
        self.wire, self.rng, self.everyone = wire, rng, everyone
        self.dead = None
        self.producer = wire.producer()
        self.placed = {}
        self.numbers = count()
        self.held = {}
        """(topic, partition) -> the values it holds."""

    def before(self, one_of_them):
        """Two topics that are there already; what is added to them has as many replicas as they have."""
        topics = [self.wire.name(what) for what in ("one", "three")]
        for topic, on in zip(topics, ([one_of_them], self.rng.sample(self.everyone, 3)), strict=True):
            self.by_hand(topic, on)
        return topics

    def by_hand(self, topic, on):
        """One partition on these nodes; it holds nothing yet."""
        self.wire.create_topic(topic, partitions=-1, assignments={0: on}, configs=ALONE).must_succeed()
        self.placed[topic] = [on]
        self.held.pop((topic, 0), None)

    def reorder(self, topic, on):
        """The same replicas in this order: another is to lead."""
        parts = [{"partition_index": 0, "replicas": on}]
        topics = [{"name": topic, "partitions": parts}]
        asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=topics)
        self.wire.ask(asked, to=self.wire.controller).must_succeed()
        self.placed[topic] = [on]

    def led_by(self, node):
        """The topics whose first partition has this node as its first replica, and others."""
        firsts = {topic: on[0] for topic, on in self.placed.items() if not isinstance(on[0], int)}
        return [topic for topic, on in firsts.items() if on[0] == node and len(on) > 1]

    def several_at_once(self):
        """By hand, in one request; those of which a partition is on the dead node alone are refused, the rest made."""
        wanted = {}
        for number in range(5):
            copies = self.rng.randint(1, 3)
            wanted[self.wire.name(f"made-{number}")] = [
                self.rng.sample(self.everyone, copies) for _ in range(self.rng.randint(1, 3))
            ]
        wanted[self.wire.name("nowhere")] = [[self.dead]]
        wanted[self.wire.name("partly")] = [[next(n for n in self.everyone if n != self.dead)], [self.dead]]
        rows = [
            self.wire.topic_row(topic, -1, configs=ALONE, assignments=dict(enumerate(partitions)))
            for topic, partitions in wanted.items()
        ]
        self.rng.shuffle(rows)
        answer = self.wire.create_topics(rows)
        self._must_be_answered(answer, "topics", wanted)

    def by_the_cluster(self):
        """With as many replicas as there are nodes, dead ones too; with fewer, on those that are alive."""
        for copies in (1, 2, 3):
            topic = self.wire.name(f"chosen-{copies}")
            self.wire.create_topic(topic, partitions=4, replicas=copies, configs=ALONE).must_succeed()
            self.placed[topic] = [copies] * 4

    def grow(self, topics):
        for topic in topics:
            there = self.placed[topic]
            added = [self.rng.sample(self.everyone, len(there[0])) for _ in range(2)]
            added[0].sort(key=lambda node: node != self.dead)  # where it is a replica, it is the first
            refused = [self.dead] in added
            answer = self.wire.create_partitions(topic, len(there) + 2, assignments=added)
            if refused:
                answer.must_be_refused(REFUSED)
            else:
                answer.must_succeed()
                there += added

    def _must_be_answered(self, answer, row, wanted):
        for each in getattr(answer.struct, row):
            partitions = wanted[each.name]
            right = REFUSED if [self.dead] in partitions else errors.NONE
            answer.must(
                each.error_code == right,
                f"{each.name} on {partitions} is answered with {each.error_code} while node {self.dead} is dead; "
                f"it must be {right}",
                f"{row}[{each.name}].error_code",
            )
            if not right:
                self.placed[each.name] = partitions

    def must_be_as_placed(self, alive):
        """Every living node shows each partition as it must be, and each takes a record and gives it back."""
        wire = self.wire
        for node in alive:
            wire.eventually(lambda at=node: self._must_be_shown(at, alive), within=WITHIN_S)
        for topic, partitions in self.placed.items():
            wire.refresh_metadata(topic)
            for index in range(len(partitions)):
                self.write(topic, index)
                wire.read_all(topic, index).must_hold(*self.held[topic, index])

    def write(self, topic, index=0):
        """One more record, like none that was there before."""
        kept, value = self.held.setdefault((topic, index), []), f"{next(self.numbers)}"
        self._write(topic, index, value, len(kept)).must_be_at(len(kept))
        kept.append(value)

    def _write(self, topic, index, value, sequence):
        """A leader may not know yet that enough replicas are in sync again (19): nothing was written. One that hands
        over while it waits for them refuses what is written: sent again it is known by its sequence."""
        written = self.producer.batch(value, sequence=sequence)

        def taken():
            answer = self.wire.produce(topic, written, index)
            return None if answer.error == errors.NOT_ENOUGH_REPLICAS else answer

        return self.wire.until(taken, within=WITHIN_S, what=f"{topic}-{index} takes a record")

    def _must_be_shown(self, node, alive):
        answer = self.wire.metadata(*self.placed, to=node)
        shown = {row.name: row for row in answer.struct.topics}
        for topic, partitions in self.placed.items():
            rows = sorted(shown[topic].partitions, key=lambda row: row.partition_index)
            answer.must(
                len(rows) == len(partitions),
                f"node {node} shows {len(rows)} of {len(partitions)} partitions of {topic}",
            )
            for row, placed in zip(rows, partitions, strict=True):
                self._must_be_right(answer, topic, row, placed, alive)

    def _must_be_right(self, answer, topic, row, placed, alive):
        replicas = row.replica_nodes
        where = f"{topic}-{row.partition_index} on {replicas} while {alive} are alive"
        living = [node for node in replicas if node in alive]
        if isinstance(placed, int):
            few = placed < len(self.everyone)
            answer.must(len(set(replicas)) == placed, f"{where}: it must have {placed} replicas")
            answer.must(self.dead is None or not few or living == replicas, f"{where}: on a dead node without need")
        else:
            answer.must(replicas == placed, f"{where}: it was placed on {placed}")
        answer.must(
            sorted(row.isr_nodes) == sorted(living), f"{where}: in sync are {row.isr_nodes}; it must be {living}"
        )
        answer.must(row.leader_id in living, f"{where}: led by {row.leader_id}; it must be one of {living}")
        gone = sorted(set(replicas) - set(living))
        answer.must(
            sorted(row.offline_replicas) == gone, f"{where}: offline are {row.offline_replicas}; it must be {gone}"
        )


def _brokers(wire, node):
    return {row.node_id for row in wire.metadata(to=node).struct.brokers} or {NO_NODE}


def _leads_again(wire, topic, node):
    """Asks for the first replica of the first partition to lead, and whether it does."""
    rows = [{"topic": topic, "partitions": [0]}]
    asked = wire.ask(request("ElectLeaders", topic_partitions=rows, timeout_ms=10_000), to=wire.controller)
    wire.refresh_metadata(topic)
    return asked.error in (errors.NONE, errors.ELECTION_NOT_NEEDED) and wire.leader(topic, 0) == node
