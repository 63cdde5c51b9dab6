"""Topic ids: a topic that is created again under its name is another one (KIP-516)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, request


@case(
    "protocol/topic-ids",
    guarantee="prot-018",
    apis={"Metadata": 10, "CreateTopics": 2, "DeleteTopics": 1},
    detects=["M43"],
)
def a_topic_made_again_has_another_id(wire, topic_of):
    """A topic's id MUST NOT be zero nor another's; every node returns the same, and a topic created again has a new
    one.
    """
    topic, other = topic_of(what="a"), topic_of(what="b")
    first = _id_of(wire, topic)
    wire.must(first != _id_of(wire, other), f"two topics have the id {first}")
    wire.delete_topic(topic).must_succeed()
    wire.until(lambda: _is_gone(wire, topic), within=30, what=f"{topic} is deleted on every node")
    wire.create_topic(topic).must_succeed()
    wire.await_topic(topic)
    wire.must(_id_of(wire, topic) != first, f"{topic} was deleted and made again, and still has the id {first}")


@case(
    "protocol/fetch-by-a-gone-id",
    guarantee="prot-018",
    apis={"Metadata": 10, "Fetch": 13, "DeleteTopics": 1, "CreateTopics": 2},
    detects=[edit_answer("responses[].partitions[].error_code", set=0, api="Fetch")],
)
def the_id_of_a_deleted_topic_finds_nothing(wire, topic):
    """A Fetch by the id of a deleted topic MUST be refused (100), also when a new topic has its name."""
    gone = wire.topic_id(topic)
    wire.produce(topic, batch("old"))
    wire.delete_topic(topic).must_succeed()
    wire.until(lambda: _is_gone(wire, topic), within=30, what=f"{topic} is deleted on every node")
    wire.create_topic(topic).must_succeed()
    wire.await_topic(topic)
    wire.produce(topic, batch("new"))

    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000_000}
    rows = [{"topic_id": gone, "partitions": [partition]}]
    answer = wire.ask(request("Fetch", replica_id=-1, max_wait_ms=500, min_bytes=1, topics=rows), to=wire.leader(topic))
    answer.must_be_refused(errors.UNKNOWN_TOPIC_ID, errors.INCONSISTENT_TOPIC_ID)
    wire.read_all(topic).must_hold("new")


def _id_of(wire, topic):
    """The id that every node gives the topic."""
    asked = [wire.metadata(topic, to=node).must_succeed() for node in wire.nodes]
    ids = {row.topic_id for answer in asked for row in answer.struct.topics}
    wire.must(len(ids) == 1, f"the nodes give {topic} the ids {sorted(map(str, ids))}", *asked)
    found = ids.pop()
    asked[0].must(found != ZERO_UUID, f"{topic} has no id", "topics[0].topic_id")
    return found


def _is_gone(wire, topic):
    """Whether no node knows the topic any more."""
    return all(wire.metadata(topic, to=node).error == errors.UNKNOWN_TOPIC_OR_PARTITION for node in wire.nodes)
