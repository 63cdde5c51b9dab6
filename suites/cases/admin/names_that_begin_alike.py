"""Names that begin alike, hold each other, or differ in case alone: what is done to one is done to no other."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire.messages import request

WITHIN_S, USER, RATE = 40, "user", "producer_byte_rate"
ENDINGS = ("", "-1", "-1-7", "-0-1", "-2024", ".a", "_b", "x", "-C", "-c")
"""One begins with another as folders, patterns and lists of names may mistake it."""
ACTS = ("cut", "grown", "set", "fenced", "quota", "emptied")


@case(
    "admin/names-that-begin-alike",
    guarantees=["adm-006", "adm-009", "adm-010", "cmt-002", "txn-007"],
    apis={"IncrementalAlterConfigs": 0, "DeleteRecords": 0, "CreatePartitions": 0, "DeleteGroups": 0, "EndTxn": 0},
    needs=["topic-settings", "partitions", "kill", "terminate", "restart"],
    detects=["B177", "B181"],
)
def the_others_are_as_they_were(wire, rng, nodes):
    """What is done to one topic, group, transactional id or user MUST be done to no other whose name begins with its
    name, ends with it or differs from it in case alone: records, partitions and settings of the others, what they
    committed, their epochs and their quotas stay as they were, at once and after brokers were stopped or killed.

    Eleven names, each of a topic, a group, a transactional id and a user. One after the other, two that others begin
    with lose records, get partitions, a setting and a newer epoch, lose their quota and their group, in a drawn order,
    and are deleted; each broker is begun anew after that. Then every other producer goes on.
    """
    stem = wire.name()
    names = [f"{stem}{ending}" for ending in ENDINGS] + [f"{wire.name()}-{stem}"]
    things = _Things(wire, rng, names)
    try:
        for victim, act in zip((names[0], names[1]), rng.sample([nodes.stop_and_start, nodes.crash], 2), strict=True):
            for what in rng.sample(ACTS, len(ACTS)):
                things.done(what, victim)
            things.delete(victim)
            things.must_be_as_they_were()
            for node in wire.nodes:
                act(node)
            for name in things.left:
                wire.await_topic(name)
            things.must_be_as_they_were()
        things.must_go_on()
    finally:
        things.remove_quotas(things.left)


class _Things:
    """One of each kind under each name."""

    def __init__(self, wire, rng, names):
        self.wire, self.rng, self.left = wire, rng, rng.sample(names, len(names))
        self.number = {name: number for number, name in enumerate(self.left, 1)}
        self.producers = {}
        for name in self.left:
            wire.create_topic(name, partitions=2, configs={"retention.ms": self._kept_ms(name)}).must_succeed()
        for name in self.left:
            wire.await_topic(name)
            producer = self.producers[name] = wire.producer(name)
            for value in range(2):
                producer.send(name, f"{self.number[name]} {value}").must_be_at(value)
            producer.send(name, f"{self.number[name]} 0", partition=1).must_be_at(0)
            producer.commit().must_succeed()
        for name in self.left:
            wire.commit_all(name, self._commits(name)).must_succeed()
        self.quotas = bool(wire.versions("AlterClientQuotas") and wire.versions("DescribeClientQuotas"))
        self._alter_quotas({name: self._rate(name) for name in self.left})

    def _kept_ms(self, name):
        return str(10**11 + self.number[name])

    def _rate(self, name):
        return 5e9 + self.number[name]

    def _commits(self, group):
        return {(topic, 0): 100 * self.number[group] + self.number[topic] for topic in self.left}

    def _alter_quotas(self, rates):
        """None takes it away."""
        if not self.quotas or not rates:
            return
        entries = [
            {
                "entity": [{"entity_type": USER, "entity_name": name}],
                "ops": [{"key": RATE, "value": rate or 0.0, "remove": rate is None}],
            }
            for name, rate in rates.items()
        ]
        asked = request("AlterClientQuotas", entries=entries, validate_only=False)
        self.wire.ask(asked, to=self.rng.choice(self.wire.nodes)).must_succeed()

    def remove_quotas(self, names):
        self._alter_quotas(dict.fromkeys(names))

    def done(self, what, victim):
        wire = self.wire
        match what:
            case "cut":
                wire.delete_records(victim, offset=2).must_succeed()
            case "grown":
                wire.create_partitions(victim, 4).must_succeed()
            case "set":
                wire.change_configs(TOPIC, victim, [("retention.ms", SET, "1000000000")]).must_succeed()
            case "fenced":
                self.producers[victim].start()
            case "quota":
                self.remove_quotas([victim])
            case "emptied":
                wire.delete_groups(victim).must_succeed()

    def delete(self, victim):
        self.wire.delete_topic(victim).must_succeed()
        self.left.remove(victim)

    def must_be_as_they_were(self):
        """One wait for all of them: whoever lost something has lost it for good."""
        self.wire.eventually(lambda: [self._must_be_as_it_was(name) for name in self.left], within=WITHIN_S)

    def _must_be_as_it_was(self, name):
        wire = self.wire
        row = wire.metadata(name).must_succeed().struct.topics[0]
        wire.must(len(row.partitions) == 2, f"{name} has {len(row.partitions)} partitions; it was given two")
        values = [f"{self.number[name]} {value}" for value in range(2)]
        for partition, wanted in enumerate((values, values[:1])):
            wire.list_offsets(name, partition, at="earliest").must_name(offset=0)
            wire.read_all(name, partition, isolation=COMMITTED).must_hold(*wanted)
        answer = wire.describe_configs(TOPIC, name, ["retention.ms"]).must_succeed()
        answer.must_have("results[0].configs[0].value", self._kept_ms(name))
        meant = self._commits(name)
        committed = wire.committed_all(name, list(meant))
        ids = {str(wire.topic_id(topic)): topic for topic in self.left}
        found = {(ids.get(str(topic), topic), index): offset for (topic, index), offset in committed.offsets.items()}
        wrong = {each: (found.get(each), offset) for each, offset in meant.items() if found.get(each) != offset}
        committed.must(not wrong, f"of group {name}, by topic and partition, the offset is, and was committed: {wrong}")
        described = wire.describe_transaction(name).must_succeed()
        described.must_have("transaction_states[0].producer_id", self.producers[name].id)
        described.must_have("transaction_states[0].producer_epoch", self.producers[name].epoch)
        if self.quotas:
            self._must_have_its_quota(name)

    def _must_have_its_quota(self, name):
        component = {"entity_type": USER, "match_type": 0, "match": name}
        asked = request("DescribeClientQuotas", components=[component], strict=True)
        for node in self.wire.nodes:
            answer = self.wire.ask(asked, to=node).must_succeed()
            found = [(row.key, row.value) for entry in answer.struct.entries or [] for row in entry.values]
            answer.must(
                found == [(RATE, self._rate(name))],
                f"the quota of {name} is {found}; it was set to {self._rate(name)}",
                "entries",
            )

    def must_go_on(self):
        """Each producer in its epoch, behind what it wrote."""
        for name in self.rng.sample(self.left, len(self.left)):
            with self.wire.part(f"of {name}"):
                end = self.wire.log_end(name, 1)
                self.producers[name].send(name, "goes on", partition=1).must_be_at(end)
                self.producers[name].commit().must_succeed()
