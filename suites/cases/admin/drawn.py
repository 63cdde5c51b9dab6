"""Topics and their settings, what each step does is drawn: each topic is exactly as it was last made and changed."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.admin.configs import overridden
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import APPEND, DELETE, SET, SUBTRACT, TOPIC
from brokertrial.wire import errors

WITHIN_S = 10
DYNAMIC_TOPIC = 1
VALUES = {
    "retention.ms": ("-1", "7654321", "86400000"),
    "retention.bytes": ("-1", "10000000", "20000000"),
    "max.message.bytes": ("2000", "3000000", "4000000"),
    "cleanup.policy": ("delete", "compact", "compact,delete"),
}
STEPS = ("set", "set", "unset", "several", "list", "replace", "grow", "make again", "refused", "trial", "write")


class Topic:
    """A topic as it must be."""

    def __init__(self, name):
        self.name, self.partitions, self.settings, self.lives = name, 1, {}, 1
        self.ends = {0: 0}


@case(
    "admin/whatever-comes-next",
    guarantees=["adm-001", "adm-004", "adm-006", "adm-007", "adm-008", "adm-009"],
    apis={"CreateTopics": 5, "DeleteTopics": 1, "DescribeConfigs": 1, "AlterConfigs": 0, "IncrementalAlterConfigs": 0},
    needs=["partitions", "topic-settings"],
    detects=["M40i"],
)
def each_topic_is_as_it_was_made_and_changed(wire, rng):
    """Whatever is set, unset, replaced, validated and refused, and whatever is grown, deleted and created again, each
    topic MUST have exactly the partitions, the records and the overrides that are in force, with their values; a
    setting without an override is described with another source.

    Three topics, four settings, 50 drawn steps.
    """
    topics = [Topic(wire.name()) for _ in range(3)]
    for one in topics:
        wire.create_topic(one.name).must_succeed()
        wire.await_topic(one.name)
    for turn in range(50):
        one, step = rng.choice(topics), rng.choice(STEPS)
        _changed(wire, one, step, rng, turn)
        wire.eventually(lambda one=one: overridden(wire, one.name, one.settings), within=WITHIN_S)
        _must_have_partitions(wire, one)
    for one in topics:
        overridden(wire, one.name, one.settings)
        for partition, end in one.ends.items():
            wire.list_offsets(one.name, partition).must_name(offset=end)
        _must_come_from_elsewhere(wire, one)


def _changed(wire, one, step, rng, turn):
    key = rng.choice(sorted(VALUES))
    value = rng.choice(VALUES[key])
    if step == "set":
        wire.change_configs(TOPIC, one.name, [(key, SET, value)]).must_succeed()
        one.settings[key] = value
    elif step == "unset":
        wire.change_configs(TOPIC, one.name, [(key, DELETE, None)]).must_succeed()
        one.settings.pop(key, None)
    elif step == "several":
        other = rng.choice([name for name in sorted(VALUES) if name != key])
        wire.change_configs(TOPIC, one.name, [(key, SET, value), (other, DELETE, None)]).must_succeed()
        one.settings[key] = value
        one.settings.pop(other, None)
    elif step == "list" and one.settings.get("cleanup.policy") in ("delete", "compact"):
        there = one.settings["cleanup.policy"]
        added = "compact" if there == "delete" else "delete"
        wire.change_configs(TOPIC, one.name, [("cleanup.policy", APPEND, added)]).must_succeed()
        wire.eventually(
            lambda: overridden(wire, one.name, {**one.settings, "cleanup.policy": f"{there},{added}"}), within=WITHIN_S
        )
        wire.change_configs(TOPIC, one.name, [("cleanup.policy", SUBTRACT, there)]).must_succeed()
        one.settings["cleanup.policy"] = added
    elif step == "replace":
        one.settings = {name: rng.choice(VALUES[name]) for name in sorted(VALUES) if rng.random() < 0.5}
        wire.alter_configs(TOPIC, one.name, one.settings).must_succeed()
    elif step == "refused":
        bad = [(key, SET, value), ("retention.ms", SET, "soon")] if key != "retention.ms" else [(key, SET, "soon")]
        wire.change_configs(TOPIC, one.name, bad).must_be_refused(errors.INVALID_CONFIG)
    elif step == "trial":
        wire.change_configs(TOPIC, one.name, [(key, SET, value)], validate_only=True).must_succeed()
        wire.alter_configs(TOPIC, one.name, {key: value}, validate_only=True).must_succeed()
    elif step == "grow" and one.partitions < 4:
        one.partitions += 1
        one.ends[one.partitions - 1] = 0
        wire.create_partitions(one.name, one.partitions).must_succeed()
        wire.await_topic(one.name)
    elif step == "write":
        partition = rng.randrange(one.partitions)
        wire.produce(one.name, batch(f"{turn}", key=b"k"), partition).must_be_at(one.ends[partition])
        one.ends[partition] += 1
    elif step == "make again" and one.lives < 3:
        _made_again(wire, one, {key: value})


def _made_again(wire, one, settings):
    one.lives += 1
    wire.delete_topic(one.name).must_succeed()
    gone = errors.UNKNOWN_TOPIC_OR_PARTITION
    for node in wire.nodes:
        wire.eventually(
            lambda node=node: wire.metadata(one.name, to=node).must_have("topics[0].error_code", gone), within=20
        )
    wire.create_topic(one.name, configs=settings).must_succeed()
    wire.await_topic(one.name)
    one.partitions, one.settings, one.ends = 1, settings, {0: 0}


def _must_have_partitions(wire, one):
    def check():
        answer = wire.metadata(one.name).must_succeed()
        found = sorted(row.partition_index for row in answer.struct.topics[0].partitions)
        wanted = list(range(one.partitions))
        answer.must(found == wanted, f"the partitions are {found}; they must be {wanted}", "topics[0].partitions")

    wire.eventually(check, within=WITHIN_S)


def _must_come_from_elsewhere(wire, one):
    """Each setting asked for by name is described once, an override with its value, any other with a source that is not
    the topic; and its synonyms begin with the value in force (KIP-226).
    """
    answer = wire.describe_configs(TOPIC, one.name, sorted(VALUES), synonyms=True).must_succeed()
    rows = answer.struct.results[0].configs
    names = sorted(row.name for row in rows)
    answer.must(names == sorted(VALUES), f"asked for {sorted(VALUES)} it describes {names}", "results[0].configs")
    for row in rows:
        own = row.config_source == DYNAMIC_TOPIC
        answer.must(
            own == (row.name in one.settings), f"{row.name} has source {row.config_source}", "results[0].configs"
        )
        first = [(each.value, each.source) for each in row.synonyms[:1]]
        answer.must(
            not first or first == [(row.value, row.config_source)],
            f"{row.name} is {row.value} by source {row.config_source}; the first of its synonyms is {first}",
            "results[0].configs",
        )
