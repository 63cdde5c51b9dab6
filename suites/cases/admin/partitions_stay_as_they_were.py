"""What becomes of the partitions of a topic that is changed: they are led as before, in the same epochs (KIP-320)."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.suites.probe.preferred_leaders import await_leaders

PARTITIONS, STARTS, EPOCHS_SINCE, WITHIN_S = 3, 2, 7, 15
"""From version 7 on Metadata shows the epoch of each leader."""


@case(
    "admin/partitions-stay-as-they-were",
    guarantees=["adm-007", "prot-015", "fetch-011"],
    apis={"Metadata": EPOCHS_SINCE, "CreatePartitions": 0, "IncrementalAlterConfigs": 0, "Fetch": 12},
    needs=["leaders", "partitions", "topic-settings", "terminate", "restart"],
    detects=["B341"],
)
def what_is_changed_of_a_topic_leaves_its_partitions(wire, topic_of, rng, nodes):
    """When a topic is given more partitions or another setting, when records of it are deleted, when that is only
    validated or refused, and when another topic is made and deleted, the partitions that there were MUST stay in every
    version of Metadata as they were: leader, epoch, replicas; and a consumer that says the epoch it knows MUST be
    served. When a node is started anew no epoch may be less than before.

    After starts that have raised the epochs; each change in drawn order, between starts.
    """
    topic = topic_of(partitions=PARTITIONS)
    for index in range(PARTITIONS):
        wire.produce(topic, batch("a"), index).must_be_at(0)
        wire.produce(topic, batch("b"), index).must_be_at(1)
    changes = ChangesBetweenStarts(wire, topic, rng)
    before = _shown(wire, topic)
    for _ in range(STARTS):
        nodes.stop_and_start(nodes.of(topic))
        await_leaders(wire, of_all=True)
        wire.await_topic(topic)
        now = _shown(wire, topic)
        wire.must(_epochs_rise(before, now), f"(leader, epoch, replicas) were {before} and are {now}")
        before = now
        for what, change in rng.sample([*changes.all.items()], len(changes.all)):
            change()
            wire.eventually(partial(_must_be_as, wire, topic, before, what), within=WITHIN_S)


def _shown(wire, topic, version=None, node=None):
    rows = wire.metadata(topic, version=version, to=node).must_succeed().struct.topics[0].partitions
    shown = {row.partition_index: (row.leader_id, row.leader_epoch, sorted(row.replica_nodes)) for row in rows}
    return dict(sorted(shown.items()))


def _epochs_rise(before, now):
    return all(index in now and now[index][1] >= epoch for index, (_, epoch, _) in before.items())


def _must_be_as(wire, topic, before, what):
    for node in wire.nodes:
        for version in (each for each in wire.versions("Metadata") if each >= EPOCHS_SINCE):
            now = _shown(wire, topic, version, node)
            kept = {index: now.get(index) for index in before}
            said = f"Metadata v{version} of node {node} shows (leader, epoch, replicas) {kept}; they were {before}"
            wire.must(kept == before, f"after {what}, {said}")
    for index, (leader, epoch, _) in list(before.items())[:PARTITIONS]:
        wire.fetch(topic, index, offset=1, leader_epoch=epoch, to=leader).must_succeed().must_hold("b")


class ChangesBetweenStarts:
    """What is done to a topic, and beside it."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng = wire, topic, rng
        self.count = PARTITIONS
        self.all = {
            "it was given more partitions": self.grown,
            "more partitions were validated": self.grown_in_vain,
            "fewer partitions were refused": self.grown_to_fewer,
            "a setting was changed": self.set,
            "records were deleted": self.cut,
            "another topic was made and deleted": self.beside,
        }

    def grown(self):
        self.count += self.rng.randint(1, 2)
        self.wire.create_partitions(self.topic, self.count).must_succeed()
        self.wire.await_topic(self.topic)

    def grown_in_vain(self):
        self.wire.create_partitions(self.topic, self.count + 1, validate_only=True).must_succeed()

    def grown_to_fewer(self):
        self.wire.create_partitions(self.topic, 1).must_be_refused()

    def set(self):
        value = str(self.rng.randint(1_000_000, 2_000_000))
        self.wire.change_configs(TOPIC, self.topic, [("max.message.bytes", SET, value)]).must_succeed()

    def cut(self):
        self.wire.delete_records(self.topic, self.rng.randrange(PARTITIONS), offset=1).must_succeed()

    def beside(self):
        other = self.wire.new_topic(partitions=2)
        self.wire.delete_topic(other).must_succeed()
