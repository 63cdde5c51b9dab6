"""DeleteRecords of the brokers' own topics: always refused (KIP-107)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.internal_topics import partitions_shown
from brokertrial.wire import errors
from brokertrial.wire.messages import request

INTERNAL = "__consumer_offsets"


@case(
    "admin/records-of-internal-topics",
    guarantees=["adm-011"],
    apis={"DeleteRecords": 0},
    detects=["H25"],
)
def records_of_the_offsets_topic_are_not_deleted(wire, topic, group):
    """DeleteRecords MUST be refused with INVALID_TOPIC_EXCEPTION (17) for the topic of the groups' offsets, and done
    for another that stands beside it.

    At offset 0, where nothing would be lost by it.
    """
    wire.coordinator(group)  # which makes the internal topic
    partitions_shown(wire, INTERNAL)
    wire.produce(topic, batch("a", "b")).must_be_at(0)
    leader = wire.leader(topic)
    rows = wire.metadata(INTERNAL).must_succeed().struct.topics[0].partitions
    there = next((row.partition_index for row in rows if row.leader_id == leader), None)
    if there is None:
        wire.unclear(f"node {leader} leads no partition of {INTERNAL}")
    for number, version in enumerate(wire.versions("DeleteRecords")):
        offset = min(number, 2)
        asked = request(
            "DeleteRecords",
            timeout_ms=20_000,
            topics=[
                {"name": INTERNAL, "partitions": [{"partition_index": there, "offset": 0}]},
                {"name": topic, "partitions": [{"partition_index": 0, "offset": offset}]},
            ],
        )
        answer = wire.ask(asked, version=version, to=leader, may_take_s=20)
        found = {
            row.name: (part.error_code, part.low_watermark) for row in answer.struct.topics for part in row.partitions
        }
        wanted = {INTERNAL: (errors.INVALID_TOPIC_EXCEPTION, -1), topic: (errors.NONE, offset)}
        answer.must(found == wanted, f"(error code, low watermark) are {found}; they must be {wanted}", "topics")
