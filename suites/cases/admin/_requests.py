"""Rows of admin requests, drawn: what each asks for, and what it must be answered with."""

from typing import NamedTuple

from brokertrial.suites.probe.admin import APPEND, DELETE, SET, SUBTRACT
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID

VALUES = {
    "retention.ms": ("-1", "7654321", "86400000"),
    "retention.bytes": ("-1", "10000000", "20000000"),
    "max.message.bytes": ("2000", "3000000", "4000000"),
    "cleanup.policy": ("delete", "compact", "compact,delete"),
    "compression.type": ("producer", "gzip", "zstd"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime"),
    "unclean.leader.election.enable": ("true", "false"),
    "min.cleanable.dirty.ratio": ("0.25", "0.5"),
}
BAD_VALUES = {
    "retention.ms": "soon",
    "max.message.bytes": "-5",
    "cleanup.policy": "tidy",
    "compression.type": "zip",
    "min.cleanable.dirty.ratio": "1.5",
}
BAD_NAMES = ("", ".", "..", "no spaces", "nor/slashes", "n" * 250)
NO_SUCH_BROKER = 77_777
"""A broker id that no cluster has."""


class Row(NamedTuple):
    """One row of a request: of which topic, its fields, its error code; and what is so afterwards if it is taken."""

    name: str
    fields: dict[str, object]
    error: int = errors.NONE
    change: object = None


class Made(NamedTuple):
    """A topic as CreateTopics makes it: how many partitions (-1: as the brokers' default is), on which nodes, with
    which settings of its own."""

    partitions: int
    placed: dict[int, list[int]] | None
    settings: dict[str, str]


def made(rng, name, nodes, version):
    """A row of CreateTopics that is to be taken."""
    settings = {key: rng.choice(VALUES[key]) for key in rng.sample(sorted(VALUES), rng.choice((0, 0, 0, 1, 3)))}
    placed = None
    if rng.random() < 0.3:
        places = [rng.sample(nodes, rng.randint(1, len(nodes))) for _ in range(rng.randint(1, 3))]
        size = len(places[0])
        placed = {index: (each + [one for one in nodes if one not in each])[:size] for index, each in enumerate(places)}
    partitions = rng.choice((1, 2, 3) if version < 4 else (-1, 1, 2, 3))
    count, replicas = (-1, -1) if placed else (partitions, rng.choice((1, len(nodes)) if version < 4 else (-1, 1)))
    rows = list((placed or {}).items())
    rng.shuffle(rows)
    fields = {
        "name": name,
        "num_partitions": count,
        "replication_factor": replicas,
        "assignments": [{"partition_index": index, "broker_ids": ids} for index, ids in rows],
        "configs": [{"name": key, "value": value} for key, value in settings.items()],
    }
    return Row(name, fields, change=Made(len(placed) if placed else partitions, placed, settings))


def not_made(rng, good, nodes):
    """The same row with something wrong in it."""
    wrong, error = rng.choice(wrong_to_make(nodes, rng.choice(sorted(BAD_VALUES))))
    return Row(good.name, {**good.fields, **wrong}, error)


def wrong_to_make(nodes, key):
    """Each kind of wrong in a row of CreateTopics, and its error code; `key` is the setting with a wrong value."""
    free, taken = {"assignments": [], "num_partitions": 1, "replication_factor": 1}, nodes[0]
    by_hand = {"num_partitions": -1, "replication_factor": -1}
    return (
        ({**free, "num_partitions": 0}, errors.INVALID_PARTITIONS),
        ({**free, "num_partitions": -2}, errors.INVALID_PARTITIONS),
        ({**free, "replication_factor": 0}, errors.INVALID_REPLICATION_FACTOR),
        ({**free, "replication_factor": -2}, errors.INVALID_REPLICATION_FACTOR),
        ({**free, "replication_factor": len(nodes) + 1}, errors.INVALID_REPLICATION_FACTOR),
        ({"configs": [{"name": key, "value": BAD_VALUES[key]}]}, errors.INVALID_CONFIG),
        ({"configs": [{"name": "no.such.setting", "value": "1"}]}, errors.INVALID_CONFIG),
        ({"configs": [{"name": key, "value": None}]}, errors.INVALID_CONFIG),
        ({**by_hand, "assignments": _places({0: [NO_SUCH_BROKER]})}, errors.INVALID_REPLICA_ASSIGNMENT),
        ({**by_hand, "assignments": _places({0: [taken], 2: [taken]})}, errors.INVALID_REPLICA_ASSIGNMENT),
        ({**by_hand, "assignments": _places({0: [taken, taken]})}, errors.INVALID_REPLICA_ASSIGNMENT),
        ({**by_hand, "assignments": _places({0: [taken], 1: []})}, errors.INVALID_REPLICA_ASSIGNMENT),
        ({**by_hand, "assignments": _places({0: [taken]}) * 2}, errors.INVALID_REPLICA_ASSIGNMENT),
        ({"num_partitions": 1, "assignments": _places({0: [taken]})}, errors.INVALID_REQUEST),
        ({"num_partitions": -1, "replication_factor": 1, "assignments": _places({0: [taken]})}, 42),
    )


def is_wrong(wire, fields):
    """Whether a row of `wrong_to_make` is wrong there. A controller with ZooKeeper does not compare assignments with
    its brokers (KAFKA-7382), and takes the last one for a partition."""
    placed = [(row["partition_index"], row["broker_ids"]) for row in fields.get("assignments", ())]
    twice = len({index for index, _ in placed}) < len(placed)
    return not wire.case_context.has_zookeeper or not (twice or any(NO_SUCH_BROKER in ids for _, ids in placed))


def words(fields):
    """What a row asks for, for a person: `num_partitions 0`, `partition 2 on [1]`, `retention.ms=soon`."""
    return ", ".join(word for name, value in fields.items() for word in _words(name, value)) or "a plain row"


def _words(name, value):
    if name == "assignments":
        return [f"partition {row.get('partition_index', 'new')} on {row['broker_ids']}" for row in value or ()]
    if name == "configs":
        return [f"{row['name']}={row['value']}" for row in value]
    return [f"{name} {value}"]


def _places(assignments):
    return [{"partition_index": index, "broker_ids": ids} for index, ids in assignments.items()]


def deleted(rng, topic, by_id):
    fields = {"name": None, "topic_id": topic.id} if by_id else {"name": topic.name, "topic_id": ZERO_UUID}
    return Row(topic.name, fields, change=topic)


def grown(rng, topic, nodes):
    """A row of CreatePartitions: a new total, and where the new ones are to be."""
    more = rng.choice((1, 1, 2))
    rows = None
    if rng.random() < 0.4:
        rows = [{"broker_ids": rng.sample(nodes, topic.replicas)} for _ in range(more)]
    return Row(topic.name, {"name": topic.name, "count": topic.partitions + more, "assignments": rows}, change=rows)


def not_grown(rng, topic, nodes):
    wrong, error = rng.choice(wrong_to_grow(topic.partitions, nodes))
    return Row(topic.name, {"name": topic.name, "assignments": None, **wrong}, error)


def wrong_to_grow(partitions, nodes):
    """Each kind of wrong in a row of CreatePartitions for a topic with so many, and its error code."""
    one = [{"broker_ids": nodes[:1] * 2}]
    return (
        ({"count": partitions}, errors.INVALID_PARTITIONS),
        ({"count": partitions - 1}, errors.INVALID_PARTITIONS),
        ({"count": 0}, errors.INVALID_PARTITIONS),
        ({"count": partitions + 1, "assignments": []}, errors.INVALID_REPLICA_ASSIGNMENT),
        ({"count": partitions + 1, "assignments": one}, errors.INVALID_REPLICA_ASSIGNMENT),
        ({"count": partitions + 2, "assignments": [{"broker_ids": nodes[:1]}]}, 39),
        ({"count": partitions + 1, "assignments": [{"broker_ids": [NO_SUCH_BROKER]}]}, 39),
        ({"count": partitions + 1, "assignments": [{"broker_ids": []}]}, 39),
    )


def changed(rng, settings):
    """Some changes of settings, as IncrementalAlterConfigs takes them, and what is so after them."""
    after, rows = dict(settings), []
    for key in rng.sample(sorted(VALUES), rng.randint(1, 3)):
        value = rng.choice(VALUES[key])
        how = rng.choice((SET, SET, DELETE))
        there = settings.get("cleanup.policy")
        if key == "cleanup.policy" and there == "compact" and rng.random() < 0.7:
            how, value = APPEND, rng.choice(("delete", "compact", "delete,compact"))
            after[key] = "compact,delete" if "delete" in value else there
        elif key == "cleanup.policy" and there == "compact,delete" and rng.random() < 0.7:
            how, value = SUBTRACT, rng.choice(("delete", "compact"))
            after[key] = "compact" if value == "delete" else "delete"
        elif how == DELETE:
            value = rng.choice((None, value))
            after.pop(key, None)
        else:
            after[key] = value
        rows.append({"name": key, "config_operation": how, "value": value})
    return rows, after


def not_changed(rng, settings):
    """Changes of which one is wrong: none may be made."""
    rows, _ = changed(rng, settings)
    used = [row["name"] for row in rows]
    key = rng.choice([each for each in sorted(BAD_VALUES) if each not in used] or ["no.such.setting"])
    wrong, error = rng.choice(wrong_to_change(used[0], key))
    rows += [{"name": name, "config_operation": how, "value": value} for name, how, value in wrong]
    rng.shuffle(rows)
    return rows, error


def wrong_to_change(used, key):
    """Each kind of wrong beside a change of one setting (`used`), of another (`key`), and its error code."""
    return (
        ([(key, SET, BAD_VALUES.get(key, "1"))], errors.INVALID_CONFIG),
        ([("no.such.setting", SET, "1")], errors.INVALID_CONFIG),
        ([(key, SET, None)], errors.INVALID_REQUEST),
        ([(used, SET, VALUES[used][0])], errors.INVALID_REQUEST),
        ([("segment.ms", APPEND, "1")], errors.INVALID_CONFIG),
    )


def replaced(rng):
    """All settings of a topic, as AlterConfigs takes them."""
    return {key: rng.choice(VALUES[key]) for key in rng.sample(sorted(VALUES), rng.choice((0, 1, 2, 3)))}
