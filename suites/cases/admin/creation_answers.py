"""What CreateTopics returns of the topics that it creates, and of those that it only validates (KIP-525)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import TOPIC
from brokertrial.wire.messages import ZERO_UUID, request

WITHIN_S, WITH_IDS = 20, 7
HIDDEN = ("remote.", "local.retention.")
"""Kafka did not describe these before they had an effect (KIP-405)."""
SETTINGS = {
    "retention.ms": "7654321",
    "max.message.bytes": "2000000",
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.25",
    "message.timestamp.type": "LogAppendTime",
}


@case(
    "admin/told-at-creation",
    guarantees=["adm-001", "adm-004", "adm-005", "adm-008"],
    apis={"CreateTopics": 5, "DescribeConfigs": 1},
    needs=["partitions", "topic-settings"],
    detects=["H22", "H23"],
)
def a_creation_returns_what_is_made(wire, rng):
    """CreateTopics MUST return from v5 on for each topic its partitions, its replicas and all settings that are in
    force for it, each with its value and source as DescribeConfigs returns them once it is created; and the same where
    it only validates.

    In each version, with counts and placements given or left to the brokers.
    """
    nodes = sorted(wire.nodes)
    for version in (each for each in wire.versions("CreateTopics") if each >= 5):
        rows = []
        for partitions, replicas in ((1, 1), (3, -1), (-1, 1), (-1, -1)):
            some = rng.sample(sorted(SETTINGS), rng.randint(0, 3))
            rows.append(wire.topic_row(wire.name("t"), partitions, replicas, {key: SETTINGS[key] for key in some}))
        placed = {0: rng.sample(nodes, 1), 1: rng.sample(nodes, 1)}
        rows.append(wire.topic_row(wire.name("t"), -1, -1, {}, placed))
        rng.shuffle(rows)
        tried = _returned(wire, rows, version, trial=True)
        for row in rows:
            wire.must_be_validated_only(row["name"])
        made = _returned(wire, rows, version, trial=False)
        for row in rows:
            name = row["name"]
            wire.await_topic(name)
            wire.must(tried[name] == made[name], f"{name}: {_differ(tried[name], made[name])} on trial")
            wire.eventually(lambda name=name, created=made[name]: _must_be_so(wire, name, created), within=WITHIN_S)


def _returned(wire, rows, version, *, trial):
    """(partitions, replicas, settings) of each."""
    wire.will_make(wire.made_topics, *(row["name"] for row in rows))
    asked = request("CreateTopics", topics=rows, timeout_ms=20_000, validate_only=trial)
    answer = wire.ask(asked, version=version, to=wire.controller(), may_take_s=20).must_succeed()
    names = sorted(row.name for row in answer.struct.topics)
    answer.must(names == sorted(row["name"] for row in rows), f"it names the topics {names}", "topics")
    found = {}
    for row in answer.struct.topics:
        answer.must(row.topic_config_error_code == 0, f"the settings of {row.name} are not reported", "topics")
        wrong = version >= WITH_IDS and not trial and row.topic_id == ZERO_UUID
        answer.must(not wrong, f"{row.name} is made without an id", "topics")
        found[row.name] = (row.num_partitions, row.replication_factor, _settings(row.configs or ()))
    return found


def _settings(rows):
    return {row.name: (row.value, row.config_source, row.read_only, row.is_sensitive) for row in rows}


def _must_be_so(wire, name, created):
    listed = wire.metadata(name).must_succeed().struct.topics[0].partitions
    described = wire.describe_configs(TOPIC, name).must_succeed()
    found = _settings(described.struct.results[0].configs)
    found |= {key: row for key, row in created[2].items() if key not in found and key.startswith(HIDDEN)}
    now = len(listed), len(listed[0].replica_nodes), found
    described.must(now == created, f"{name}: {_differ(created, now)} now", "results[0].configs")


def _differ(created, other):
    """The first value that differs between two answers."""
    pairs = [("the partitions", created[0], other[0]), ("the replicas", created[1], other[1])]
    pairs += [(key, created[2].get(key), other[2].get(key)) for key in sorted({*created[2], *other[2]})]
    return next((f"{what}: {one} and {two}" for what, one, two in pairs if one != two), "no difference")
