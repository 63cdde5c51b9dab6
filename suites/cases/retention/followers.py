"""Retention on the disks of followers: what is deleted is deleted on every replica (DescribeLogDirs)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, placed
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire.messages import request

BATCHES, GONE, BYTES = 8, 5, 20_000
SETTINGS = {"segment.ms": "60000", "retention.ms": "-1", "retention.bytes": "-1", "file.delete.delay.ms": "0"}


@case(
    "retention/followers-delete-too",
    guarantees=["ret-001", "ret-002", "adm-011"],
    needs=["three-nodes", "leaders", "topic-settings"],
    apis={"DescribeLogDirs": 1, "DeleteRecords": 0, "IncrementalAlterConfigs": 0},
    detects=["B73"],
)
def no_replica_keeps_what_is_gone(wire, rng):
    """What retention.ms, retention.bytes or DeleteRecords have deleted MUST be deleted by every replica, whether it
    leads or follows: the size that it reports comes down to that of the segments that stay.

    Three topics of eight segments of one batch each, on three nodes; of each the five oldest go in another way.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    now = wire.now_ms()
    topics = {way: placed(wire, way, rng.sample(list(wire.nodes), 3), **SETTINGS) for way in ("time", "size", "asked")}
    for topic in topics.values():
        for number in range(BATCHES):
            made = batch("x" * BYTES, timestamp=now - (BATCHES - number) * HOUR_MS)
            wire.produce(topic, made, acks=-1).must_be_at(number)
        all_in_sync(wire, topic)
        wire.eventually(lambda of=topic: _must_have_segments(wire, of, BATCHES), within=WITHIN_S)
    young = (BATCHES - GONE) * HOUR_MS + HOUR_MS // 2
    wire.change_configs(TOPIC, topics["time"], [("retention.ms", SET, str(young))]).must_succeed()
    keeps = (BATCHES - GONE) * BYTES
    wire.change_configs(TOPIC, topics["size"], [("retention.bytes", SET, str(keeps))]).must_succeed()
    wire.delete_records(topics["asked"], offset=GONE).must_succeed()
    for way, topic in topics.items():
        wire.eventually(lambda of=topic: wire.list_offsets(of, at="earliest").must_name(offset=GONE), within=WITHIN_S)
        with wire.part(f"deleted by {way}"):
            wire.eventually(lambda of=topic: _must_have_segments(wire, of, BATCHES - GONE), within=WITHIN_S)


def _must_have_segments(wire, topic, count):
    """Each node reports the bytes of so many batches, a few bytes more or less."""
    for node in wire.nodes:
        asked = request("DescribeLogDirs", topics=[{"topic": topic, "partitions": [0]}])
        answer = wire.ask(asked, to=node).must_succeed()
        rows = [part for each in answer.struct.results for row in each.topics for part in row.partitions]
        sizes = [part.partition_size for part in rows if not part.is_future_key]
        right = [size for size in sizes if count * BYTES <= size < (count + 1) * BYTES]
        what = f"node {node} reports {sizes} bytes; {count} batches of {BYTES} stay"
        answer.must(len(sizes) == len(right) == 1, what, "results")
