"""What a node answers for a partition that it does not lead, or has no replica of, in every version."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
FROM_FOLLOWERS = 11
"""From this version of Fetch on a follower may serve consumers (KIP-392)."""
ELSEWHERE = errors.NOT_LEADER_OR_FOLLOWER
LATEST, OLDEST = -1, 0


@case(
    "replication/asked-of-who-does-not-lead",
    guarantees=["offs-009", "fetch-012", "prod-009"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings"],
    apis={"Fetch": 4, "ListOffsets": 1, "OffsetForLeaderEpoch": 2, "Produce": 3, "DeleteRecords": 0},
    detects=["Z44", "Z45"],
)
def who_does_not_lead_says_so(wire, rng):
    """A node that does not lead a partition, whether or not it has a replica of it, MUST answer NOT_LEADER_OR_FOLLOWER
    (6) to Produce, ListOffsets, OffsetForLeaderEpoch and DeleteRecords in every version, and to Fetch of consumers that
    do not read from followers (before version 11), so that clients learn of the leader.
    """
    leads, follows, other = rng.sample(list(wire.nodes), 3)
    topic = placed(wire, "t", [leads, follows], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("a")).must_be_at(0)
    for node in (follows, other):
        wire.eventually(
            lambda at=node: wire.metadata(topic, to=at).must_have("topics[0].error_code", 0), within=WITHIN_S
        )
        for api, asked in _questions(wire, topic).items():
            for version in wire.versions(api):
                if api == "Fetch" and version >= FROM_FOLLOWERS and node == follows:
                    continue
                with wire.part(f"{api} v{version} of {'a follower' if node == follows else 'another node'}"):
                    wire.ask(asked, to=node, version=version, may_take_s=5).must_be_refused(ELSEWHERE)
    wire.read_all(topic).must_hold("a")


def _questions(wire, topic):
    """For the first partition of the topic, each as an ordinary client asks."""
    named = {"name": topic, "topic_id": wire.topic_id(topic)}
    data = {**named, "partition_data": [{"index": 0, "records": batch("b")}]}
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    fetched = {"topic": topic, "topic_id": named["topic_id"], "partitions": [part]}
    listed = {"name": topic, "partitions": [{"partition_index": 0, "timestamp": LATEST}]}
    ends = {"topic": topic, "partitions": [{"partition": 0, "leader_epoch": OLDEST}]}
    deleted = {"name": topic, "partitions": [{"partition_index": 0, "offset": 0}]}
    return {
        "Produce": request("Produce", acks=-1, timeout_ms=5_000, topic_data=[data]),
        "Fetch": request("Fetch", replica_id=-1, max_wait_ms=100, min_bytes=1, max_bytes=1 << 20, topics=[fetched]),
        "ListOffsets": request("ListOffsets", replica_id=-1, topics=[listed]),
        "OffsetForLeaderEpoch": request("OffsetForLeaderEpoch", replica_id=-1, topics=[ends]),
        "DeleteRecords": request("DeleteRecords", timeout_ms=5_000, topics=[deleted]),
    }
