"""Records that are deleted at a leader that is deposed before all replicas have deleted them."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest
from brokertrial.suites.cases.partition._replicas import NEEDS, lead_in_this_order, shown_by, take_over
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
WAITS_MS, LOOK_S, LATE_S = 8_000, 2, 30


@case(
    "partition/not-deleted-by-who-was-deposed",
    guarantees=["adm-011"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "DeleteRecords": 0, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["B106"],
)
def a_former_leader_knows_of_no_deletion(wire, nodes, rng):
    """DeleteRecords that waits for a replica when its leader is deposed MUST NOT be answered as done while a replica
    whose node is alive still has the records: with an error (6, or 7 when its time is over), in every version. When
    that replica leads next, what it returns and what it is asked to delete MUST be as ever.

    The third replica is cut off from the other brokers and alive for its controllers; then the second is made leader.
    """
    for version in wire.versions("DeleteRecords"):
        first, second, third = rng.sample(wire.nodes, 3)
        topic = placed(wire, f"v{version}", [first, second, third], **ALONE)
        all_in_sync(wire, topic)
        values = [f"{number}" for number in range(rng.randint(3, 6))]
        for number, value in enumerate(values):
            wire.produce(topic, batch(value)).must_be_at(number)
        front = rng.randint(1, len(values) - 1)
        rows = [{"name": topic, "partitions": [{"partition_index": 0, "offset": front}]}]
        asked = request("DeleteRecords", timeout_ms=WAITS_MS, topics=rows)
        with apart(nodes, third, "brokers"):
            waiting = OpenRequest(wire, first, asked, f"delete v{version}", version)
            waiting.await_answer(LOOK_S)
            if waiting.acknowledged:
                waiting.response.is_false(f"it is answered as done, and node {third}, which is alive, has all records")
            take_over(wire, topic, [second, first, third])
            wire.until(
                lambda at=first, of=topic, new=second: shown_by(wire, of, at).leader_id == new,
                within=WITHIN_S,
                what=f"node {first} knows who leads",
            )
            waiting.await_answer(LATE_S)
            wire.must(waiting.over, f"DeleteRecords, which may wait for {WAITS_MS} ms, is not answered")
            if waiting.acknowledged:
                waiting.response.is_false(
                    f"node {first}, which leads no more, answers that all below {front} is deleted; node {third}, "
                    "which is alive, has it"
                )
        all_in_sync(wire, topic)
        lead_in_this_order(wire, topic, [third, second, first])
        wire.refresh_metadata(topic)
        wire.delete_records(topic, offset=front).must_have("topics[0].partitions[0].low_watermark", front)
        wire.list_offsets(topic, at="earliest").must_name(offset=front)
        wire.read_all(topic, offset=front).must_hold(*values[front:])
