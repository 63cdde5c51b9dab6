"""Topics that are not there, and topics that clients must not write to."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors


@case(
    "produce/asking-makes-no-topic",
    guarantee="prod-015",
    apis={"Metadata": 4},
    detects=["M40d"],
)
def asking_for_a_topic_does_not_make_it(wire):
    """Metadata that does not allow topic creation MUST NOT create a topic, whatever the settings, nor MUST Produce.

    The name is asked for on every node, written to, and must then still be unknown.
    """
    absent = wire.name("absent")
    for node in wire.nodes:
        wire.metadata(absent, create=False, to=node).must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    by_name = min(wire.versions("Produce")[-1], 12)
    wire.produce(absent, batch("a"), to=wire.nodes[0], version=by_name).must_be_refused(
        errors.UNKNOWN_TOPIC_OR_PARTITION
    )
    wire.metadata(absent, create=False).must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    every = wire.metadata(all_topics=True).must_succeed()
    every.must(absent not in [row.name for row in every.struct.topics], f"{absent} was made", "topics")


@case(
    "produce/internal-topics",
    guarantee="prod-016",
    apis={"OffsetCommit": 2, "DeleteRecords": 0},
    detects=[edit_answer("responses[].partition_responses[].error_code", set=0, api="Produce")],
)
def internal_topics_are_not_for_clients(wire, topic, group):
    """Clients SHOULD NOT be able to write to a broker's internal topics or to trim them; what a group committed stays.

    Refused as an invalid topic, as not authorised, or as unknown where offsets do not live in a topic.
    """
    wire.commit(group, topic, offset=7)
    internal = "__consumer_offsets"
    there = wire.known_partitions(internal)
    node = wire.leader(internal) if there else wire.leader(topic)
    refusals = (errors.INVALID_TOPIC_EXCEPTION, errors.TOPIC_AUTHORIZATION_FAILED, errors.POLICY_VIOLATION)
    unknown = () if there else (errors.UNKNOWN_TOPIC_OR_PARTITION, errors.UNKNOWN_TOPIC_ID)
    wire.produce(internal, batch("a", key=b"k"), to=node).must_be_refused(*refusals, *unknown)
    wire.delete_records(internal, offset=-1, retry=False).must_be_refused(*refusals, *unknown)
    wire.committed(group, topic).must_be(7)
