"""Names that are used again, and names that are nearly the same: each topic is itself alone."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.admin.configs import overridden
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

MADE = {"CreateTopics": 5, "DeleteTopics": 1}


@case(
    "admin/three-lives-of-a-name",
    guarantees=["adm-006", "adm-001"],
    apis={**MADE, "DescribeConfigs": 1, "InitProducerId": 0},
    needs=["topic-settings"],
    detects=["M40f", "P06"],
)
def nothing_of_a_topic_passes_to_the_next_of_its_name(wire, topic_of):
    """Nothing of a deleted topic MUST pass to one that is created again under its name: neither partitions, settings,
    limits, records, log start nor producers; also the second and the third time.
    """
    lives = (  # type: ignore[var-annotated]
        (3, {"max.message.bytes": "1000", "retention.ms": "7654321"}),
        (1, {}),
        (2, {"message.timestamp.type": "LogAppendTime"}),
    )
    topic, producer, ids = wire.name(), wire.producer(), []  # type: ignore[var-annotated]
    for partitions, settings in lives:
        if ids:
            wire.delete_topic(topic).must_succeed()
            _must_be_unknown(wire, topic)
        wire.create_topic(topic, partitions=partitions, configs=settings).must_succeed()
        wire.await_topic(topic)
        ids.append(wire.topic_id(topic))
        found = sorted(row.partition_index for row in wire.metadata(topic).struct.topics[0].partitions)
        wire.must(found == list(range(partitions)), f"the partitions are {found}; they must be {partitions}")
        overridden(wire, topic, settings)
        for partition in range(partitions):
            producer.send(topic, "first", partition=partition, sequence=0).must_be_at(0)
            large = wire.produce(topic, batch("x" * 5_000), partition)
            if "max.message.bytes" in settings:
                large.must_be_refused(errors.MESSAGE_TOO_LARGE)
                wire.produce(topic, batch("small"), partition).must_be_at(1)
            else:
                large.must_be_at(1)
            wire.delete_records(topic, partition, offset=1).must_succeed()
            wire.read_all(topic, partition).must_have_offsets([1])
        beyond = wire.produce(topic, batch("beyond"), partitions, to=wire.leader(topic), retry=False)
        beyond.must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    wire.must(len(set(ids)) == 3, "topics of one name have one id")


@case(
    "admin/names-that-are-nearly-the-same",
    guarantees=["adm-003", "adm-006", "adm-001"],
    apis=MADE,
    detects=["Q13", edit_answer("topics[].partitions[2]", drop=True, api="Metadata")],
)
def names_count_to_the_letter(wire, group):
    """Topics whose names differ in case, in a sign or in their length alone MUST be different topics: each has its own
    partitions, records and committed offset, and the deletion of some leaves the others alone.
    """
    stem = wire.name("n")
    longest = stem + "-" * (249 - len(stem))
    names = [stem, stem.upper(), f"{stem}-", f"{stem}0", f"{stem}-0", longest, longest[:-1]]
    for number, name in enumerate(names):
        wire.create_topic(name, partitions=1 + number % 3).must_succeed()
    for number, name in enumerate(names):
        wire.await_topic(name)
        wire.produce(name, batch(f"of {number}", *["more"] * number)).must_be_at(0)
        wire.commit(group, name, offset=number).must_succeed()
    gone = names[1::3]
    wire.delete_topic(*gone).must_succeed()
    for number, name in enumerate(names):
        if name in gone:
            _must_be_unknown(wire, name)
            continue
        found = sorted(row.partition_index for row in wire.metadata(name).struct.topics[0].partitions)
        wire.must(found == list(range(1 + number % 3)), f"of {name[-9:]!r} the partitions are {found}")
        wire.read_all(name).must_hold(f"of {number}", *["more"] * number)
        wire.committed(group, name).must_be(number)


def _must_be_unknown(wire, topic):
    """To every node."""
    unknown = errors.UNKNOWN_TOPIC_OR_PARTITION
    for node in wire.nodes:
        wire.eventually(
            lambda node=node: wire.metadata(topic, to=node).must_have("topics[0].error_code", unknown), within=20
        )
