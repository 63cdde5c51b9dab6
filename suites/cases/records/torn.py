"""What a crash may leave half written at the end of a log is not served."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.log_tail import DAMAGES
from brokertrial.wire.messages import request

KEPT = [f"kept {number}" for number in range(5)]
LATE = [f"late {number} " * 16_000 for number in range(8)]


@case(
    "records/whole-after-a-crash",
    guarantees=["rec-005", "prod-002"],
    needs=["leaders", "topic-settings", "kill", "restart"],
    detects=["M02c"],
)
def what_a_crash_left_half_written_is_not_served(wire, topic_of, nodes):
    """After its node was killed, a partition MUST serve only whole batches with valid checksums, and among them every
    one that was acknowledged.

    There is one replica, so that what this node has recovered is what is read. It is killed while large batches come in
    with acks=0: any number of the first of them may be in the log, but none in part.
    """
    topic = topic_of(replicas=1, configs={"min.insync.replicas": "1"})
    for number, name in enumerate(KEPT):
        wire.produce(topic, batch(name)).must_be_at(number)
    for name in LATE:
        wire.produce(topic, batch(name), acks=0, via="late", wait=False)
    nodes.crash(nodes.of(topic))
    wire.await_topic(topic)

    log = wire.read_all(topic)
    for part in log.batches:
        log.must(part.crc_ok(), f"the batch at offset {part.header.base_offset} has a checksum that does not hold")
    sent = [name.encode() for name in (*KEPT, *LATE)][: len(log.values)]
    others = [offset for offset, value, wanted in zip(log.offsets, log.values, sent, strict=False) if value != wanted]
    log.must(log.offsets == list(range(len(sent))), f"the offsets are {log.offsets}; of {len(KEPT + LATE)} sent")
    log.must(not others, f"at the offsets {others} are not the records that were sent")
    log.must(len(sent) >= len(KEPT), f"{len(KEPT)} records were acknowledged and {len(sent)} are left")
    wire.produce(topic, batch("after")).must_be_at(len(sent))


@case(
    "records/damaged-tail-is-cut",
    guarantees=["rec-010", "rec-005"],
    needs=["started", "leaders", "topic-settings", "kill", "restart"],
    apis={"DescribeLogDirs": 1},
    detects=["M02d"],
)
def what_came_to_the_disk_in_part_is_cut_off(wire, topic_of, nodes):
    """A partition whose newest batch came to the disk in part, or as other bytes, MUST end before it once its node is
    back from a crash, serve what lies before, and give its offset to the next record.

    The files of a dead node are changed as a power failure may leave them. There is one replica, so that none can make
    good what this one has lost.
    """
    topic = topic_of(replicas=1, configs={"min.insync.replicas": "1"})
    kept = []
    for how in DAMAGES:
        kept.append(f"before {how}")
        wire.produce(topic, batch(kept[-1])).must_be_at(len(kept) - 1)
        wire.produce(topic, batch(f"lost, for {how}"), acks=1).must_be_at(len(kept))
        node = nodes.of(topic)
        folders = wire.ask(request("DescribeLogDirs", topics=[{"topic": topic, "partitions": [0]}]), to=node)
        nodes.kill(node)
        nodes.damage_tail(node, [row.log_dir for row in folders.struct.results], topic, how)
        nodes.start(node)
        wire.await_topic(topic)

        log = wire.read_all(topic)
        for part in log.batches:
            log.must(part.crc_ok(), f"{how}: the batch at offset {part.header.base_offset} fails its checksum")
        log.must_hold(*kept)
    wire.produce(topic, batch("after")).must_be_at(len(kept))
