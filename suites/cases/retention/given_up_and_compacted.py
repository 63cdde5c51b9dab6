"""Records that DeleteRecords gave up go from the disk, whatever the topic's policy becomes (KIP-107)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire.messages import request

SEGMENTS, BYTES = 6, 20_000


@case(
    "retention/given-up-and-compacted",
    guarantees=["adm-011", "ret-004"],
    needs=["topic-settings"],
    apis={"DeleteRecords": 0, "DescribeLogDirs": 1, "IncrementalAlterConfigs": 0},
    detects=["Z43"],
)
def what_was_given_up_leaves_the_disk(wire, topic_of, rng):
    """Segments that lie below the log start, where DeleteRecords has put it, MUST be deleted, so that DescribeLogDirs
    reports less for each replica, also of a topic whose policy is `compact` by then.

    Six segments of 20,000 bytes with keys of their own; all but the last are given up.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topic = topic_of(configs={"segment.ms": "60000", "retention.ms": "-1"})
    time = wire.now_ms() - (SEGMENTS + 1) * HOUR_MS
    for number in range(SEGMENTS):
        made = batch(rng.randbytes(BYTES), key=b"%d" % number, timestamp=time + number * HOUR_MS)
        wire.produce(topic, made).must_be_at(number)
    wire.delete_records(topic, offset=SEGMENTS - 1).must_succeed()
    wire.change_configs(TOPIC, topic, [("cleanup.policy", SET, "compact")]).must_succeed()
    wire.eventually(lambda: _must_be_small(wire, topic), within=WITHIN_S)
    wire.list_offsets(topic, at="earliest").must_name(offset=SEGMENTS - 1)


def _must_be_small(wire, topic):
    for node in wire.nodes:
        asked = request("DescribeLogDirs", topics=[{"topic": topic, "partitions": [0]}])
        answer = wire.ask(asked, to=node).must_succeed()
        sizes = [
            part.partition_size for folder in answer.struct.results for row in folder.topics for part in row.partitions
        ]
        small = sum(sizes) < 2 * BYTES
        answer.must(small, f"node {node} has {sum(sizes)} bytes, of which {BYTES} are not given up", "results")
