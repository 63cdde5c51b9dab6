"""What coordinators write while the topics that they write to take very large batches: no less than before."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.suites.probe.internal_topics import partitions_shown

OFFSETS, STATE = "__consumer_offsets", "__transaction_state"
APIS = {"OffsetCommit": 2, "OffsetFetch": 2, "TxnOffsetCommit": 0, "IncrementalAlterConfigs": 0, "DescribeConfigs": 1}
LARGEST = "max.message.bytes"
HUGE = (100_000_000, 1_000_000_000, 2_000_000_000, 2**31 - 1)
IDS, WITHIN_S = 4, 20


@case(
    "commits/however-large-a-batch-may-be",
    guarantees=["cmt-001", "grp-016", "txn-001"],
    apis=APIS,
    needs=["settings", "started"],
    detects=["K25"],
)
def what_coordinators_write_is_taken_as_before(wire, topic, rng):
    """While max.message.bytes of the topics that coordinators write to is raised, up to 2147483647, commits, joins and
    transactions MUST be served as before, of old and new ids; and OffsetFetch MUST return what was committed.

    Three values in a drawn order, each for four groups and four transactional ids; then the settings are put back.
    """
    ids = CoordinatedIds(wire, topic, rng)
    ids.must_be_served()
    for name in (OFFSETS, STATE):
        partitions_shown(wire, name)
    try:
        for value in rng.sample(HUGE, 3):
            for name in (OFFSETS, STATE):
                wire.change_configs(TOPIC, name, [(LARGEST, SET, str(value))]).must_succeed()
                wire.eventually(lambda at=name, to=value: _must_have(wire, at, to), within=WITHIN_S)
            with wire.part(f"{LARGEST}={value}"):
                ids.must_be_served()
    finally:
        for name in (OFFSETS, STATE):
            wire.change_configs(TOPIC, name, [(LARGEST, DELETE, None)]).must_succeed()
    ids.must_be_served()


class CoordinatedIds:
    """Groups and transactional ids, new ones each time and those of before, and the offset that each must have."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng, self.turn = wire, topic, rng, 0
        self.groups = {wire.name("g"): -1 for _ in range(IDS)}
        self.producers = []

    def must_be_served(self):
        wire, self.turn = self.wire, self.turn + 1
        self.groups[wire.name("g")] = -1
        for group in self.groups:
            self.groups[group] = self.turn
            version = self.rng.choice(wire.versions("OffsetCommit"))
            wire.commit(group, self.topic, offset=self.turn, metadata=f"v{version}", version=version).must_succeed()
        rebalance(wire.member(wire.name("g"), "alone"))
        self.producers.append(wire.producer(wire.name("x")))
        for producer in self.producers:
            group = wire.name("g")
            producer.send_offsets(group, {(self.topic, 0): self.turn}).must_succeed()
            producer.commit().must_succeed()
            wire.eventually(lambda of=group: wire.committed(of, self.topic).must_be(self.turn), within=WITHIN_S)
        for group, offset in self.groups.items():
            wire.committed(group, self.topic).must_be(offset)


def _must_have(wire, name, value):
    answer = wire.describe_configs(TOPIC, name).must_succeed()
    found = {row.name: row.value for row in answer.at("results[0].configs")}[LARGEST]
    answer.must(found == str(value), f"{LARGEST} of {name} is {found}; it was set to {value}")
