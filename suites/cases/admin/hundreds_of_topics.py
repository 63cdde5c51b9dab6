"""Hundreds of topics, made, told of, deleted and made again in one request each."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import request

TOPICS, ABSENT, LARGEST, WITHIN_S = 120, 1_880, "max.message.bytes", 30


@case(
    "admin/hundreds-of-topics",
    guarantees=["adm-001", "adm-006", "adm-008", "adm-017", "err-008"],
    apis={"CreateTopics": 1, "DeleteTopics": 1, "DescribeConfigs": 1},
    needs=["topic-settings", "partitions", "kill", "terminate", "restart"],
    detects=["B290"],
)
def each_is_as_it_was_made(wire, nodes, rng):
    """However many topics one request names, each MUST be made as it was asked for, told of by Metadata and
    DescribeConfigs as it is, and deleted with DeleteTopics; of those that are not there each MUST be refused (3). One
    that is made again MUST have what it is made with now, and a new id; so it MUST be after a stop or a crash.

    120 topics of one to three partitions, each with a limit of its own, and 1,880 names of none; half are deleted, and
    half of those made again.
    """
    made = {wire.name(f"t{n}-"): (rng.randint(1, 3), 1_000 + n) for n in range(TOPICS)}
    absent = [wire.name("absent") for _ in range(ABSENT)]
    _make(wire, made)
    ids = _must_be_told(wire, made, absent, rng)

    gone = rng.sample(list(made), TOPICS // 2)
    _delete(wire, gone, absent, rng)
    left = {name: each for name, each in made.items() if name not in gone}
    wire.eventually(lambda: _must_be_told(wire, left, [*absent, *gone], rng), within=WITHIN_S)
    again = {name: (rng.randint(1, 3), 9_000 + n) for n, name in enumerate(gone[: TOPICS // 4])}
    _make(wire, again)
    now, absent = {**left, **again}, [*absent, *gone[TOPICS // 4 :]]
    later = _must_be_told(wire, now, absent, rng)
    same = [name for name in later if (later[name] == ids[name]) != (name in left)]
    wire.must(
        not same,
        f"{len(same)} topics, such as {''.join(same[:1])}, have the id of a deleted topic, or another id than before",
    )

    rng.choice((nodes.stop_and_start, nodes.crash))(wire.nodes[0])
    for name in now:
        wire.await_topic(name)
    after = _must_be_told(wire, now, absent, rng)
    changed = [name for name in after if after[name] != later[name]]
    wire.must(not changed, f"{len(changed)} topics, such as {''.join(changed[:1])}, have another id after a restart")


def _make(wire, rows):
    answer = wire.create_topics(
        [wire.topic_row(name, count, 1, {LARGEST: str(limit)}) for name, (count, limit) in rows.items()]
    ).must_succeed()
    named = sorted(row.name for row in answer.struct.topics)
    answer.must(named == sorted(rows), f"it has {len(named)} rows for {len(rows)} topics", "topics")
    for name in rows:
        wire.await_topic(name)


def _delete(wire, gone, absent, rng):
    answer = wire.delete_topic(*rng.sample([*gone, *absent], len(gone) + len(absent)))
    answer.examined = True
    rows = sorted((row.name, row.error_code) for row in answer.struct.responses)
    due = sorted([(name, 0) for name in gone] + [(name, errors.UNKNOWN_TOPIC_OR_PARTITION) for name in absent])
    answer.must(len(rows) == len(due), f"it has {len(rows)} rows for {len(due)} topics", "responses")
    for (name, error), (_, wanted) in zip(rows, due, strict=True):
        answer.must(error == wanted, f"{name} is answered {errors.name(error)}; it must be {errors.name(wanted)}")


def _must_be_told(wire, there, absent, rng):
    """The ids of those that are there, by name."""
    named = rng.sample([*there, *absent], len(there) + len(absent))
    asked = request("Metadata", topics=[{"name": name} for name in named], allow_auto_topic_creation=False)
    answer = wire.ask(asked)
    answer.examined = True
    _must_name(answer, sorted(row.name for row in answer.struct.topics), named)
    for row in answer.struct.topics:
        error, count = (
            (errors.NONE, there[row.name][0]) if row.name in there else (errors.UNKNOWN_TOPIC_OR_PARTITION, 0)
        )
        answer.must(
            (row.error_code, len(row.partitions)) == (error, count),
            f"{row.name} has error {errors.name(row.error_code)} and {len(row.partitions)} partitions; "
            f"it must have {errors.name(error)} and {count}",
        )
    ids = {row.name: row.topic_id for row in answer.struct.topics if row.name in there}

    resources = [
        {"resource_type": TOPIC, "resource_name": name, "configuration_keys": [LARGEST]}
        for name in rng.sample(named, len(named))
    ]
    answer = wire.ask(request("DescribeConfigs", resources=resources))
    answer.examined = True
    _must_name(answer, sorted(row.resource_name for row in answer.struct.results), named)
    for row in answer.struct.results:
        known = row.resource_name in there
        found = [each.value for each in row.configs if each.name == LARGEST]
        wanted = [str(there[row.resource_name][1])] if known else []
        answer.must(
            (not row.error_code, found) == (known, wanted),
            f"{row.resource_name} has error {errors.name(row.error_code)} and {LARGEST} {', '.join(found) or 'unset'}; "
            f"it must {'have ' + wanted[0] if known else 'be refused'}",
        )
    return ids


def _must_name(answer, found, named):
    answer.must(found == sorted(named), f"it has {len(found)} rows for {len(named)} names, or others")
