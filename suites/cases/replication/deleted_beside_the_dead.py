"""Records that are deleted while a replica hangs, whose node is dead soon."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
LONG_MS, LOOK_S, BEFORE = 120_000, 0.2, 5


@case(
    "replication/deleted-while-a-follower-dies",
    guarantees=["adm-011", "ord-006"],
    needs=["three-nodes", "leaders", "topic-settings", "pause", "kill", "restart"],
    apis={"CreateTopics": 5, "DeleteRecords": 0, "ListOffsets": 1},
    detects=["B59"],
)
def deletion_waits_for_no_dead_node(wire, nodes, rng):
    """DeleteRecords MUST be answered once the log begins there on every replica whose node is alive: one that hung when
    it was asked for, and has died since, MUST NOT keep it waiting (KIP-107). What is left MUST be there then.

    The leader is written to meanwhile: Apache Kafka looks again when something has changed.
    """
    leader, other, hangs = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, other, hangs], **ALONE)
    all_in_sync(wire, topic)
    for number in range(BEFORE):
        wire.produce(topic, batch(f"{number}")).must_be_at(number)
    front = rng.randint(1, BEFORE - 1)
    nodes.pause(hangs)
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "offset": front}]}]
    waiting = OpenRequest(wire, leader, request("DeleteRecords", timeout_ms=LONG_MS, topics=rows), "delete")
    nodes.kill(hangs)
    values = [f"{number}" for number in range(BEFORE)]

    def answered():
        wire.produce(topic, batch(f"{len(values)}"), acks=1, to=leader).must_be_at(len(values))
        values.append(f"{len(values)}")
        waiting.await_answer(LOOK_S)
        return waiting.over

    wire.until(answered, within=WITHIN_S, what=f"DeleteRecords is answered, with node {hangs} dead")
    wire.must(waiting.answered, "DeleteRecords has no answer, and its connection was closed")
    answer = waiting.response.must_succeed()
    low = answer.struct.topics[0].partitions[0].low_watermark
    answer.must(low == front, f"it names {low}; all replicas that are alive begin at {front}")
    nodes.start(hangs)
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold(*values[front:])
