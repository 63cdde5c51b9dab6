"""The logs of coordinators, compacted before a node goes down: what is read back is what compaction has left."""

from contextlib import contextmanager
from functools import partial
from itertools import count

from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.suites.probe.coordinator_writes import coordinator_partition
from brokertrial.suites.probe.internal_topics import partitions_shown

OFFSETS, STATE = "__consumer_offsets", "__transaction_state"
APIS = {"IncrementalAlterConfigs": 0, "DescribeConfigs": 1, "Fetch": 4, "ListOffsets": 2}
SEGMENT_MS, WITHIN_S = 300, 30
SETTINGS = {"segment.ms": str(SEGMENT_MS), "min.cleanable.dirty.ratio": "0.0"}
POLICY = "cleanup.policy"
"""As it is already; what is set to be compacted is not searched for doubled batches (suites/probe/harm.py). Here some
are alike: each TxnOffsetCommit is one with sequence 0 in Apache Kafka (CoordinatorRuntime)."""
TOMBSTONES = "delete.retention.ms"
TRANSACTION = 1
GO_DOWN = ("terminate", "kill", "stop_and_start", "crash")


@contextmanager
def compacted_first(wire, nodes):
    """`nodes`, each of which is stopped or killed only once the coordinators' logs have been compacted.

    The first time tombstones stay, as they do for a day; from then on they go with the next round. On several nodes
    they always stay: who is away longer than delete.retention.ms may miss them, and leads with what they removed.
    """
    kept = CompactedFirst(wire, nodes)
    try:
        kept.set({**SETTINGS, POLICY: "compact"})
        yield kept
    finally:
        for name in kept.topics:
            back = wire.change_configs(TOPIC, name, [(key, DELETE, None) for key in (*SETTINGS, TOMBSTONES)])
            back.examined = True


class CompactedFirst:
    """As `nodes` in everything else."""

    def __init__(self, wire, nodes):
        self._wire, self._nodes, self._beside = wire, nodes, wire.new_topic("beside")
        wire.coordinator(wire.name("g"))
        wire.coordinator(wire.name("x"), TRANSACTION)
        self.topics = {name: partitions_shown(wire, name) for name in (OFFSETS, STATE)}
        self._written_ms = {}

    def __getattr__(self, name):
        act = getattr(self._nodes, name)
        return partial(self._compacted_first, act) if name in GO_DOWN else act

    def _compacted_first(self, act, node):
        self._compact()
        act(node)

    def set(self, settings):
        changes = [(key, SET, value) for key, value in settings.items()]
        for name in self.topics:
            self._wire.change_configs(TOPIC, name, changes).must_succeed()

    def _compact(self):
        """Rolls each segment that has something in it, and waits until no key is twice in what was rolled."""
        wire = self._wire
        began_ms = wire.now_ms()
        wire.until(lambda: wire.now_ms() > began_ms + SEGMENT_MS, within=WITHIN_S, what="the segments are old enough")
        rolled = {}
        for name, partitions in self.topics.items():
            for partition in range(partitions):
                start, end = (wire.list_offsets(name, partition, at=at).offset for at in ("earliest", "latest"))
                if start < end:
                    rolled[name, partition] = end
                    self._write(name, partition, partitions)
        for (name, partition), end in rolled.items():
            wire.until(
                lambda at=(name, partition, end): self._is_compacted(*at) or self._rolls_again(*at[:2]),
                within=WITHIN_S,
                what=f"{name}-{partition} is compacted up to {end}",
            )
        if len(wire.nodes) == 1:
            self.set({TOMBSTONES: "0"})

    def _rolls_again(self, name, partition):
        """Once more, where the coordinator had begun a segment by itself just before, as when it ends a transaction."""
        if self._wire.now_ms() > self._written_ms[name, partition] + 2 * SEGMENT_MS:
            self._write(name, partition, self.topics[name])
        return False

    def _write(self, name, partition, partitions):
        self._written_ms[name, partition] = self._wire.now_ms()
        base = self._wire.name("beside")
        names = (f"{base}-{number}" for number in count())
        beside = next(one for one in names if coordinator_partition(one, partitions) == partition)
        if name == OFFSETS:
            self._wire.commit(beside, self._beside, offset=1).must_succeed()
        else:
            self._wire.init_producer_id(beside).must_succeed()

    def _is_compacted(self, name, partition, end):
        """A segment in which a transaction is open may stay as it is."""
        if self._wire.list_offsets(name, partition, isolation="committed").offset < end:
            return True
        keys = [record.key for record in self._wire.read_all(name, partition).records if record.offset < end]
        return len(keys) == len(set(keys))
