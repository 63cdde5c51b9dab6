"""Requests of dozens of topics: each is judged separately, and answered once."""

from collections import Counter
from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import TOPIC
from brokertrial.suites.probe.at_once import at_once
from brokertrial.wire import errors
from brokertrial.wire.messages import request

COUNT, BAD, WITHIN_S = 60, 8, 30
ROUNDS, MANY, LOOKED_AT = 6, 30, 2
SETTING = "retention.ms"


@case(
    "admin/dozens-in-one-request",
    guarantees=["adm-001", "adm-002", "adm-006"],
    apis={"CreateTopics": 4, "DeleteTopics": 1, "DescribeConfigs": 1, "Metadata": 4},
    detects=["W15"],
)
def each_of_dozens_has_its_own_fate(wire, rng):
    """A CreateTopics of dozens of topics MUST answer each once and create all valid ones; the others MUST be refused
    with their own code (17). Metadata, DescribeConfigs and DeleteTopics of as many MUST answer each once too. Topics
    that are only validated (validate_only) MUST NOT be created.

    60 good names and eight bad ones, in a drawn order: validated, created, described and deleted.
    """
    good = [wire.name(f"t{number}") for number in range(COUNT)]
    bad = [f"{wire.name('bad')} {number}" for number in range(BAD)]
    wire.will_make(wire.made_topics, *good)
    for only_tried in (True, False):
        _create(wire, rng.sample([*good, *bad], COUNT + BAD), bad, only_tried)
        _must_be_listed(wire, good, errors.UNKNOWN_TOPIC_OR_PARTITION if only_tried else errors.NONE)
    _describe(wire, rng.sample(good, COUNT))
    deleted = wire.delete_topic(*rng.sample(good, COUNT))
    _must_answer(deleted, [(row.name, row.error_code) for row in deleted.struct.responses], dict.fromkeys(good, 0))
    _must_be_listed(wire, good, errors.UNKNOWN_TOPIC_OR_PARTITION)


@case(
    "admin/dozens-by-several-at-once",
    guarantees=["adm-001", "adm-002"],
    apis={"CreateTopics": 7, "Metadata": 10, "Produce": 3},
    detects=["J05"],
)
def each_topic_is_created_once(wire, rng):
    """However many clients create the same topics at the same moment, each topic MUST be created for one of them, with
    the id that it is answered, and be refused to the others with TOPIC_ALREADY_EXISTS (36). What is written to it is
    there.

    Two clients, six times: both create the same 30 topics.
    """
    for turn in range(ROUNDS):
        names = [wire.name(f"t{turn}-{number}") for number in range(MANY)]
        rows, to = [wire.topic_row(name) for name in names], wire.controller()
        asks = [partial(wire.create_topics, rows, to=to, via=f"client {client}") for client in range(2)]
        made = _made(wire, at_once(wire, asks))
        for name in rng.sample(names, LOOKED_AT):
            wire.await_topic(name)
            found = wire.topic_id(name)
            wire.must(found == made[name], f"{name} was created with {made[name]}, and has the id {found}")
            wire.produce(name, batch("a")).must_be_at(0)
            wire.read_all(name).must_hold("a")


def _made(wire, answers):
    """Name -> id, each of which one client was answered."""
    made = [(row.name, row.topic_id) for one in answers for row in one.struct.topics if row.error_code == 0]
    codes = {errors.name(row.error_code) for one in answers for row in one.struct.topics if row.error_code}
    wire.must(codes == {"TOPIC_ALREADY_EXISTS"}, f"topics are refused with {sorted(codes)}; they exist already")
    twice = [name for name, times in Counter(name for name, _ in made).items() if times > 1]
    wire.must(not twice, f"{len(twice)} topics are created for both clients: {twice[:3]}")
    wire.must(len(made) == MANY, f"{len(made)} topics are created of {MANY}")
    return dict(made)


def _create(wire, names, bad, only_tried):
    rows = [
        {"name": name, "num_partitions": 1, "replication_factor": -1, "assignments": [], "configs": []}
        for name in names
    ]
    asked = request("CreateTopics", topics=rows, timeout_ms=30_000, validate_only=only_tried)
    answer = wire.ask(asked, to=wire.controller, may_take_s=30)
    wanted = {name: errors.INVALID_TOPIC_EXCEPTION if name in bad else errors.NONE for name in names}
    _must_answer(answer, [(row.name, row.error_code) for row in answer.struct.topics], wanted)


def _describe(wire, names):
    rows = [{"resource_type": TOPIC, "resource_name": name, "configuration_keys": [SETTING]} for name in names]
    answer = wire.ask(request("DescribeConfigs", resources=rows), to=wire.nodes[0])
    results = answer.struct.results
    _must_answer(answer, [(row.resource_name, row.error_code) for row in results], dict.fromkeys(names, 0))
    other = [row.resource_name for row in results if [each.name for each in row.configs] != [SETTING]]
    answer.must(not other, f"{len(other)} topics are described otherwise than by {SETTING}: {other[:3]}", "results")


def _must_be_listed(wire, names, code):
    for node in wire.nodes:
        wire.eventually(lambda node=node: _look(wire, names, code, node), within=WITHIN_S)


def _look(wire, names, code, node):
    answer = wire.metadata(*names, to=node)
    rows = [(row.name, row.error_code) for row in answer.struct.topics]
    _must_answer(answer, rows, dict.fromkeys(names, code))


def _must_answer(answer, rows, wanted):
    """Each name once, with its code."""
    times, codes = Counter(name for name, _ in rows), dict(rows)
    other = [name for name in {**wanted, **codes} if times[name] != 1 or name not in wanted]
    answer.must(not other, f"{len(other)} topics of {len(wanted)} are not answered once: {other[:3]}")
    wrong = {name: errors.name(codes[name]) for name, code in wanted.items() if codes[name] != code}
    one = next(iter(wrong), "")
    answer.must(not wrong, f"{len(wrong)} topics have a wrong error code: {one} has {wrong.get(one)}")
