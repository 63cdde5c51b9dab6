"""The longest time that a request can allow its broker, 2147483647 ms: no reason to be late, early or refused."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.fetch import Fetched
from brokertrial.wire.messages import request

LONGEST_MS, MOST_BYTES, SHORT_MS, REST_S = 0x7FFFFFFF, 0x7FFFFFFF, 500, 2.0


@case(
    "protocol/longest-waits",
    guarantees=["fetch-004", "fetch-008", "prod-001", "adm-001"],
    apis={"Fetch": 4, "CreateTopics": 2, "DeleteTopics": 1},
    needs=["partitions"],
    detects=["B320"],
)
def the_longest_time_is_no_reason_to_be_late_or_early(wire, topic_of):
    """Where a request allows its broker 2147483647 ms, a Fetch of what is not there yet MUST be answered once it is,
    and neither before nor much later; one that asks for more bytes than there will be MUST be answered when its own
    time is over. What is written, created, grown, cut and deleted MUST be acknowledged.
    """
    topic = topic_of(partitions=1)
    waiting = _fetch(wire, topic, max_wait_ms=LONGEST_MS, min_bytes=1)
    wire.rest(REST_S)
    written = wire.produce(topic, batch("a"), via="writer", timeout_ms=LONGEST_MS)
    written.must_be_at(0)
    wire.at_once(waiting, after=written)
    waiting.must_hold("a")

    short = wire.fetch(topic, offset=0, max_wait_ms=SHORT_MS, min_bytes=MOST_BYTES)
    short.must_hold("a")
    wire.at_once(short, asked_s=SHORT_MS / 1_000)

    new = wire.name("new")
    row = {"name": new, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    _must_be_done(wire, request("CreateTopics", topics=[row], timeout_ms=LONGEST_MS))
    wire.await_topic(new)
    wire.produce(new, batch("a", "b")).must_be_at(0)
    if wire.versions("CreatePartitions"):
        grown = {"name": new, "count": 2, "assignments": None}
        _must_be_done(wire, request("CreatePartitions", topics=[grown], timeout_ms=LONGEST_MS))
    if wire.versions("DeleteRecords"):
        cut = {"name": new, "partitions": [{"partition_index": 0, "offset": 1}]}
        asked = request("DeleteRecords", topics=[cut], timeout_ms=LONGEST_MS)
        wire.ask(asked, to=lambda: wire.leader(new)).must_succeed()
        wire.list_offsets(new, at="earliest").must_name(offset=1)
    _must_be_done(wire, request("DeleteTopics", topic_names=[new], topics=[{"name": new}], timeout_ms=LONGEST_MS))


def _must_be_done(wire, asked):
    wire.ask(asked, to=wire.controller).must_succeed()


def _fetch(wire, topic, **allowed):
    """Without the patience that the time which it names would ask for."""
    row = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    asked = request(
        "Fetch",
        replica_id=-1,
        max_bytes=MOST_BYTES,
        session_epoch=-1,
        topics=[{"topic": topic, "topic_id": wire.topic_id(topic), "partitions": [row]}],
        **allowed,
    )
    return wire.ask_as(
        Fetched, asked, version=wire.by_name("Fetch", [topic], 12), to=wire.leader(topic), via="reader", wait=False
    )
