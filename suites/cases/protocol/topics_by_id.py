"""Topics that are asked for by their ids alone (KIP-516), and what a client may do with them (KIP-430)."""

from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

BY_ID = 12
NOT_ASKED = -(1 << 31)


@case(
    "protocol/metadata-by-id",
    guarantees=["adm-001", "adm-006"],
    apis={"Metadata": BY_ID, "CreateTopics": 7, "DeleteTopics": 1},
    detects=["S06"],
)
def topics_are_returned_by_their_ids(wire, topic_of):
    """Metadata that names topics by their ids MUST return each with its name and the partitions that it has by name,
    and an unknown id, that of a deleted topic included, with UNKNOWN_TOPIC_ID (100) and without partitions.
    """
    topic, other, gone = topic_of(partitions=2), topic_of(what="other"), topic_of(what="gone")
    ids = {name: wire.topic_id(name) for name in (topic, other, gone)}
    wire.delete_topic(gone).must_succeed()
    unknown = errors.UNKNOWN_TOPIC_OR_PARTITION
    for node in wire.nodes:
        wire.eventually(
            lambda node=node: wire.metadata(gone, to=node).must_have("topics[0].error_code", unknown), within=20
        )
    by_name = {row.name: row for row in wire.metadata(topic, other).must_succeed().struct.topics}
    for version in (each for each in wire.versions("Metadata") if each >= BY_ID):
        rows = [{"topic_id": ids[name], "name": None} for name in (other, gone, topic)]
        asked = request("Metadata", topics=rows, allow_auto_topic_creation=False)
        for node in wire.nodes:
            answer = wire.ask(asked, version=version, to=node)
            by_id = {row.topic_id: row for row in answer.struct.topics}
            codes = {name: by_id[ids[name]].error_code if ids[name] in by_id else None for name in ids}
            wanted = {topic: 0, other: 0, gone: errors.UNKNOWN_TOPIC_ID}
            answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "topics")
            lost = by_id[ids[gone]]
            answer.must(not lost.partitions and not lost.name, f"the gone topic is {lost.name!r}", "topics")
            for name in (topic, other):
                found, must = by_id[ids[name]], by_name[name]
                answer.must(
                    (found.name, _leaders(found)) == (name, _leaders(must)),
                    f"{found.name} has {_leaders(found)}; it must have {_leaders(must)}",
                    "topics",
                )


@case(
    "protocol/topic-operations",
    guarantees=["adm-001"],
    level="should",
    apis={"Metadata": 8},
    detects=["S07"],
)
def the_operations_on_a_topic_are_returned_when_asked_for(wire, topic):
    """Metadata SHOULD return the authorized operations of a topic when it is asked to include them, reading and writing
    among them, and MUST NOT otherwise.
    """
    read, write = 1 << 3, 1 << 4
    for included in (True, False):
        asked = request(
            "Metadata",
            topics=[{"name": topic}],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=included,
        )
        answer = wire.ask(asked, to=wire.leader(topic)).must_succeed()
        operations = answer.struct.topics[0].topic_authorized_operations
        holds = operations & (read | write) == read | write and operations > 0 if included else operations == NOT_ASKED
        answer.must(holds, f"the operations are {operations}", "topics[0].topic_authorized_operations")


def _leaders(row):
    return sorted((part.partition_index, part.leader_id) for part in row.partitions)
