"""Every kind of wrong row in the requests that make, grow and change topics, each beside one that is right."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.admin import _requests as rows_of
from brokertrial.suites.cases.admin.lists import BAD, LISTS
from brokertrial.suites.probe.admin import APPEND, SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import request

HOW = {SET: "set to", APPEND: "with more:"}
KEPT, LIMIT = "retention.ms", "max.message.bytes"
NO_BROKER = (errors.INVALID_REPLICATION_FACTOR, errors.INVALID_REPLICA_ASSIGNMENT)
WITHIN_S = 20
FIRST = 2
"""Kafka 4.0 has dropped the older versions (KIP-896)."""


@case(
    "admin/each-wrong-row-of-creation",
    guarantees=["adm-002", "adm-004", "adm-001"],
    apis={"CreateTopics": FIRST, "DescribeConfigs": 1},
    needs=["partitions"],
    detects=["Z30"],
)
def each_wrong_topic_is_refused_for_what_is_wrong(wire, rng):
    """CreateTopics MUST refuse each row with the error code of what is wrong in it, create none of these topics, and
    create those that are right as they are asked for, in each version; with validate_only the codes MUST be the same,
    and nothing is created.

    15 kinds of wrong, and each setting with a wrong value: numbers of partitions and replicas, assignments by hand
    (with a gap, a broker that there is not, one twice), settings. Three that are right: plain, by hand, with settings.
    """
    nodes = sorted(wire.nodes)
    for version in [one for one in wire.versions("CreateTopics") if one >= FIRST]:
        for trial in (True, False):
            with wire.part(f"version {version}{', validate_only' if trial else ''}"):
                _created_in_part(wire, rng, nodes, version, trial)


def _created_in_part(wire, rng, nodes, version, trial):
    good, bad, answer = wire.until(
        lambda: _asked(wire, rng, nodes, version, trial),
        within=WITHIN_S,
        what="no broker is fenced, as one is for a moment whose heartbeat is late",
    )
    wanted = {**{name: (0, fields) for name, fields in good.items()}, **bad}
    named = sorted(row.name for row in answer.struct.topics)
    answer.must(named == sorted(wanted), f"it answers {len(named)} topics, not the {len(wanted)} asked for", "topics")
    for index, row in enumerate(answer.struct.topics):
        code, fields = wanted[row.name]
        found, due = (f"{errors.name(one)} ({one})" for one in (row.error_code, code))
        said = f"a topic with {rows_of.words(fields)} is answered with {found}; it must be {due}"
        answer.must(row.error_code == code, said, f"topics[{index}].error_code")
    for name, fields in good.items() if not trial else ():
        wire.await_topic(name)
        _must_be_as_asked(wire, name, fields)
    for name in [*bad, *good] if trial else bad:
        there = wire.metadata(name).struct.topics[0].error_code
        answer.must(there != 0, f"{name} was not to be created, and is there")


def _asked(wire, rng, nodes, version, trial):
    """The rows that are right, those that are wrong, and the answer; nothing while there is no broker for a replica."""
    plain = {"num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    good = {wire.name("good"): {**plain, **fields} for fields in _right(nodes)}
    bad = {wire.name("bad"): (code, fields) for fields, code in _wrong(wire, nodes)}
    rows = [{"name": name, **fields} for name, fields in good.items()]
    rows += [{"name": name, **plain, **fields} for name, (_, fields) in bad.items()]
    rng.shuffle(rows)
    if not trial:
        wire.will_make(wire.made_topics, *good)
    asked = request("CreateTopics", topics=rows, timeout_ms=20_000, validate_only=trial)
    answer = wire.ask(asked, to=wire.controller(), version=version)
    codes = {row.name: row.error_code for row in answer.struct.topics}
    fenced = any(codes.get(name) in NO_BROKER for name in good)
    return None if fenced else (good, bad, answer)


def _right(nodes):
    others = nodes[1:] or nodes
    by_hand = [{"partition_index": index, "broker_ids": [each]} for index, each in enumerate((nodes[0], others[0]))]
    return (
        {},
        {"num_partitions": -1, "replication_factor": -1, "assignments": by_hand},
        {"num_partitions": 2, "configs": [{"name": KEPT, "value": "7654321"}, {"name": LIMIT, "value": "3000"}]},
    )


def _wrong(wire, nodes):
    wrong = list(rows_of.wrong_to_make(nodes, KEPT))
    wrong += [
        ({"configs": [{"name": key, "value": value}]}, errors.INVALID_CONFIG)
        for key, value in rows_of.BAD_VALUES.items()
    ]
    return [row for row in wrong if rows_of.is_wrong(wire, row[0])]


def _must_be_as_asked(wire, name, fields):
    placed = {row["partition_index"]: row["broker_ids"] for row in fields["assignments"]}
    listed = wire.metadata(name).must_succeed()
    found = {row.partition_index: list(row.replica_nodes) for row in listed.struct.topics[0].partitions}
    right = found == placed if placed else len(found) == fields["num_partitions"]
    listed.must(
        right, f"its partitions are {found}; it was asked for with {rows_of.words(fields)}", "topics[0].partitions"
    )
    settings = {row["name"]: row["value"] for row in fields["configs"]}
    described = {key: wire.configs_of_topic(name).get(key) for key in settings}
    wire.must(described == settings, f"its settings are {described}; it was asked for with {settings}")


@case(
    "admin/each-wrong-row-of-growth",
    guarantees=["adm-007", "adm-004"],
    apis={"CreatePartitions": 0},
    needs=["partitions"],
    detects=["P12"],
)
def each_wrong_growth_is_refused_for_what_is_wrong(wire, topic_of, rng):
    """CreatePartitions MUST refuse each row with the error code of what is wrong in it, also with validate_only, and
    add nothing; nor MUST a row that is right, with validate_only, in any version.

    Eight kinds of wrong: a count that is not larger, assignments of another number than of new partitions, of a broker
    that there is not, of one twice, of none. After one that was accepted another topic is asked about.
    """
    nodes, topic = sorted(wire.nodes), topic_of(partitions=2)
    for fields, code in rows_of.wrong_to_grow(2, nodes):
        if wire.case_context.has_zookeeper and str(rows_of.NO_SUCH_BROKER) in str(fields):
            continue
        for trial in (True, False):
            taken = True
            with wire.part(f"{rows_of.words(fields)}{', validate_only' if trial else ''}"):
                answer = _grown(wire, rng.choice(list(wire.versions("CreatePartitions"))), topic, fields, trial)
                taken = not answer.error
                answer.must_be_refused(code)
            if taken:  # what it holds now, the next counts do not say
                topic = topic_of(partitions=2, what="next")
    for version in wire.versions("CreatePartitions"):
        _grown(wire, version, topic, {"count": 3}, True).must_succeed()
    for node in nodes:
        listed = wire.metadata(topic, to=node).must_succeed()
        count = len(listed.struct.topics[0].partitions)
        listed.must(count == 2, f"it has {count} partitions; nothing was to be added to its 2", "topics[0].partitions")


def _grown(wire, version, topic, fields, trial):
    rows = [{"name": topic, "assignments": None, **fields}]
    asked = request("CreatePartitions", topics=rows, timeout_ms=20_000, validate_only=trial)
    return wire.ask(asked, to=wire.controller(), version=version)


@case(
    "admin/each-wrong-change",
    guarantees=["adm-009", "adm-008"],
    apis={"IncrementalAlterConfigs": 0, "DescribeConfigs": 1},
    needs=["topic-settings"],
    detects=["Z31"],
)
def each_wrong_change_is_refused_and_none_is_made(wire, topic_of, rng):
    """IncrementalAlterConfigs MUST refuse changes of which one is wrong, with the error code of what is wrong, and make
    none of them, also with validate_only.

    Settings with a wrong value, that do not exist, have no value, come twice or are no list; and lists of replicas to
    throttle with a wrong item, which is set or appended.
    """
    topic = topic_of(configs={KEPT: "7654321"})
    wrong = [
        (changes, code)
        for key in rows_of.BAD_VALUES
        for changes, code in rows_of.wrong_to_change("retention.bytes", key)
    ]
    wrong += [
        ([(name, how, f"0:1,{item}")], errors.INVALID_CONFIG) for name in LISTS for item in BAD for how in (SET, APPEND)
    ]
    for changes, code in wrong:
        rows = [("retention.bytes", SET, "10000000"), *changes]
        rng.shuffle(rows)
        for trial in (True, False):
            asked = ", ".join(f"{name} {HOW[how]} {value}" for name, how, value in changes)
            with wire.part(f"{asked}{', validate_only' if trial else ''}"):
                wire.change_configs(TOPIC, topic, rows, validate_only=trial).must_be_refused(code)
    described = wire.configs_of_topic(topic)
    kept = {name: described.get(name) for name in (KEPT, "retention.bytes", *LISTS)}
    wanted = {KEPT: "7654321", "retention.bytes": "-1", **dict.fromkeys(LISTS, "")}
    wire.must({name: value or "" for name, value in kept.items()} == wanted, f"its settings are {kept}")
