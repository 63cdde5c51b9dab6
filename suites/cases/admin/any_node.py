"""Admin requests at each node: done as if it were the controller, or refused and not done (KIP-590)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, request


@case(
    "admin/asked-of-any-node",
    guarantees=["adm-016", "adm-001"],
    apis={"CreateTopics": 4, "DeleteTopics": 1, "CreatePartitions": 0},
    needs=["partitions"],
    detects=["M40e", edit_answer("topics[].error_code", set=41, api="CreateTopics")],
)
def each_node_does_what_an_admin_asks(wire):
    """Topics that are created, grown and deleted through any node MUST be so at every node, or the node MUST refuse
    with NOT_CONTROLLER (41) and change nothing.
    """
    for node in wire.nodes:
        topic = wire.name(f"of{node}")
        made = wire.create_topic(topic, partitions=2, to=node)
        if made.error == errors.NOT_CONTROLLER:
            absent = errors.UNKNOWN_TOPIC_OR_PARTITION
            for each in wire.nodes:
                wire.metadata(topic, to=each).must_have("topics[0].error_code", absent)
            continue
        made.must_succeed()
        wire.await_topic(topic)
        grown = request(
            "CreatePartitions", topics=[{"name": topic, "count": 3, "assignments": None}], timeout_ms=20_000
        )
        wire.ask(grown, to=node, may_take_s=20).must_succeed().must_have("results[0].error_code", 0)
        for each in wire.nodes:
            wire.eventually(lambda each=each, topic=topic: _shows(wire, topic, each, 3), within=20)
        wire.await_topic(topic)
        for partition in range(3):
            wire.produce(topic, batch("a"), partition).must_be_at(0)
        rows = [{"name": topic, "topic_id": ZERO_UUID}]
        gone = request("DeleteTopics", topics=rows, topic_names=[topic], timeout_ms=20_000)
        wire.ask(gone, to=node, may_take_s=20).must_have("responses[0].error_code", 0)
        for each in wire.nodes:
            wire.eventually(
                lambda each=each, topic=topic: wire.metadata(topic, to=each).must_have(
                    "topics[0].error_code", errors.UNKNOWN_TOPIC_OR_PARTITION
                ),
                within=20,
            )


def _shows(wire, topic, node, count):
    answer = wire.metadata(topic, to=node)
    found = sorted(row.partition_index for row in answer.struct.topics[0].partitions)
    return answer.must(found == list(range(count)), f"node {node} shows the partitions {found}; they must be {count}")
