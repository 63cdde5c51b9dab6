"""CreateTopics: what is made, what is refused and why, and that asking is not making."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

CREATE = {"CreateTopics": 4}  # since then -1 asks for the default number of replicas
CODES = "topics[].error_code"


@case(
    "admin/created-as-asked",
    guarantee="adm-001",
    needs=["partitions"],
    apis={**CREATE, "DescribeConfigs": 1},
    smoke=True,
    detects=[edit_answer("topics[].partitions[2]", drop=True, api="Metadata")],
)
def a_topic_is_what_was_asked_for_everywhere(wire, topic_of):
    """A created topic MUST have the partitions, replicas and settings asked for, and be usable through every broker."""
    replicas = min(3, len(wire.nodes))
    topic = topic_of(partitions=3, replicas=replicas, configs={"retention.ms": "7654321"})

    for node in wire.nodes:
        answer = wire.metadata(topic, to=node)
        parts = sorted((row.partition_index, len(row.replica_nodes)) for row in answer.struct.topics[0].partitions)
        wanted = [(partition, replicas) for partition in range(3)]
        answer.must(
            parts == wanted, f"node {node} shows (partition, replicas) {parts}; they must be {wanted}", "topics"
        )
    settings = wire.configs_of_topic(topic)
    wire.must(settings.get("retention.ms") == "7654321", f"retention.ms is {settings.get('retention.ms')}")
    for partition in range(3):
        wire.produce(topic, batch("a"), partition).must_be_at(0)
        wire.fetch(topic, partition, max_wait_ms=5_000, min_bytes=1).must_hold("a")


@case(
    "admin/bad-creations",
    guarantee="adm-002",
    apis=CREATE,
    detects=[edit_answer("topics[error_code=38].error_code", set=37, api="CreateTopics")],
)
def each_bad_creation_has_its_own_code_and_harms_no_other(wire, topic):
    """A creation that cannot be MUST be refused with its own error code, and good ones in the same request succeed."""
    stranger = max(wire.nodes) + 1_000
    row, good = wire.topic_row, wire.name()
    bad = {
        topic: (row(topic), errors.TOPIC_ALREADY_EXISTS),
        (name := wire.name()): (row(name, partitions=0), errors.INVALID_PARTITIONS),
        (name := wire.name()): (row(name, partitions=-5), errors.INVALID_PARTITIONS),
        (name := wire.name()): (row(name, replicas=len(wire.nodes) + 1), errors.INVALID_REPLICATION_FACTOR),
        (nowhere := wire.name()): (
            row(nowhere, -1, -1, assignments={0: [stranger]}),
            errors.INVALID_REPLICA_ASSIGNMENT,
        ),
        (name := wire.name()): (
            row(name, -1, -1, assignments={0: [wire.nodes[0]] * 2}),
            errors.INVALID_REPLICA_ASSIGNMENT,
        ),
        (name := wire.name()): (row(name, configs={"retention.ms": "soon"}), errors.INVALID_CONFIG),
        (name := wire.name() + " !"): (row(name), errors.INVALID_TOPIC_EXCEPTION),
    }
    if wire.case_context.has_zookeeper:
        del bad[nowhere]  # KAFKA-7382: a controller with ZooKeeper does not compare assignments with its brokers
    answer = wire.create_topics([row(good, 2), *(asked for asked, _ in bad.values())])

    codes = {result.name: result.error_code for result in answer.struct.topics}
    wanted = {good: 0, **{name: code for name, (_, code) in bad.items()}}
    for name, code in wanted.items():
        with wire.part(errors.name(code)):
            result = errors.name(codes[name]) if name in codes else "not returned"
            answer.must(codes.get(name) == code, f"{name} is {result}; it must be {errors.name(code)}", "topics")
    wire.await_topic(good)
    for name in [name for name in bad if name != topic]:
        with wire.part(f"{name} afterwards"):
            row_of = wire.metadata(name).struct.topics[0]
            answer.must(row_of.error_code != 0, f"{name} was refused and is there all the same")


@case(
    "admin/topic-names",
    guarantee="adm-003",
    apis={**CREATE, "DeleteTopics": 1},
    detects=[edit_answer(CODES, set=0, api="CreateTopics")],
)
def names_have_letters_digits_and_three_signs(wire):
    """A topic's name MUST be 1 to 249 letters, digits, dots, underscores and dashes, and neither "." nor ".."; a topic
    with the longest name MUST be deleted like any other.

    All that is refused is asked for with validate_only as well as in earnest.
    """
    stem = wire.name("n")
    longest = stem + "x" * (249 - len(stem))
    for name in (longest, f"{stem}._-Z9"):
        wire.create_topic(name).must_succeed()
        wire.await_topic(name)
    wrong = [f"{longest}x", f"{stem} ", f"{stem}/", f"{stem}ü", f"{stem}:a"]
    for name in ["", ".", "..", *wrong]:
        with wire.part(f"the name {name[-2:]!r}, with validate_only"):
            wire.create_topic(name, validate_only=True).must_be_refused(errors.INVALID_TOPIC_EXCEPTION)
    for name in wrong:
        with wire.part(f"the name {name[-2:]!r}"):
            wire.create_topic(name).must_be_refused(errors.INVALID_TOPIC_EXCEPTION)
    gone = wire.delete_topic(longest)
    gone.must(not gone.error, "the topic with the longest name is not deleted", "responses")
    wire.eventually(
        lambda: wire.metadata(longest).must_have("topics[0].error_code", errors.UNKNOWN_TOPIC_OR_PARTITION), within=20
    )


@case(
    "admin/names-that-collide",
    guarantee="adm-003",
    level="should",
    apis=CREATE,
    detects=[edit_answer(CODES, set=0, api="CreateTopics")],
)
def names_that_differ_in_dots_and_underscores_only_collide(wire):
    """A name that differs from a topic's only in "." and "_" SHOULD be refused: their metrics would have one name."""
    stem = wire.name("n")
    wire.create_topic(f"{stem}.a_b").must_succeed()
    wire.await_topic(f"{stem}.a_b")
    wire.create_topic(f"{stem}_a.b").must_be_refused(errors.INVALID_TOPIC_EXCEPTION)


@case("admin/creation-on-trial", guarantee="adm-004", apis=CREATE, detects=["M40k"])
def validate_only_makes_no_topic(wire, topic):
    """CreateTopics with validate_only MUST answer as the real request would, and make nothing."""
    name = wire.name()
    wire.create_topic(name, partitions=2, validate_only=True).must_succeed()
    wire.create_topic(name, configs={"retention.ms": "soon"}, validate_only=True).must_be_refused(errors.INVALID_CONFIG)
    wire.create_topic(topic, validate_only=True).must_be_refused(errors.TOPIC_ALREADY_EXISTS)

    for node in wire.nodes:
        wire.must_be_validated_only(name, to=node)
    wire.create_topic(name, partitions=3).must_succeed()
    wire.await_topic(name)


@case(
    "admin/broker-defaults",
    guarantee="adm-005",
    apis={"CreateTopics": 5, "DescribeConfigs": 1},
    detects=[edit_answer("topics[].num_partitions", add=1, api="CreateTopics")],
)
def minus_one_means_the_brokers_defaults(wire):
    """Where -1 partitions and -1 replicas are asked for, the topic MUST have the brokers' defaults, and the answer MUST
    say so.
    """
    defaults = [wire.setting("num.partitions"), wire.setting("default.replication.factor")]
    if not all(value and value.isdigit() for value in defaults):
        wire.not_applicable("the brokers do not return num.partitions and default.replication.factor")
    partitions, replicas = (int(value) for value in defaults)
    name = wire.name()
    made = wire.create_topic(name, partitions=-1, replicas=-1).must_succeed()
    made.must_have("topics[0].num_partitions", partitions).must_have("topics[0].replication_factor", replicas)
    wire.await_topic(name)
    parts = wire.metadata(name).struct.topics[0].partitions
    found = (len(parts), {len(part.replica_nodes) for part in parts})
    wire.must(found == (partitions, {replicas}), f"partitions and replicas are {found}", made)


@case(
    "admin/created-once",
    guarantee="adm-015",
    apis=CREATE,
    detects=[edit_answer(CODES, set=0, api="CreateTopics")],
)
def of_many_creations_at_once_one_succeeds(wire):
    """When many clients create one topic at the same time, exactly one MUST succeed, and the others be refused with
    TOPIC_ALREADY_EXISTS (36).

    A node that is not the controller may refuse (41) instead of forwarding, as Kafka did before KIP-590.
    """
    name, nodes = wire.name(), wire.nodes
    pending = [
        wire.create_topic(name, via=f"c{n % 5}", to=nodes[n % len(nodes)], wait=False, partitions=1 + n % 4)
        for n in range(20)
    ]
    made = [n for n, answer in enumerate(pending) if answer.error == 0]
    wire.must(len(made) == 1, f"the requests {made} of 20 succeeded; it must be one", *pending[:3])
    for n, answer in enumerate(pending):
        if n not in made:
            answer.must_be_refused(errors.TOPIC_ALREADY_EXISTS, errors.NOT_CONTROLLER)
    wire.await_topic(name)
    metadata = wire.metadata(name)
    metadata.must(
        len(metadata.struct.topics[0].partitions) == 1 + made[0] % 4, "it has another number of partitions", "topics"
    )
