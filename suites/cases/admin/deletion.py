"""DeleteTopics and DeleteRecords: what is gone is gone, and nothing else."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID

ROW = "topics[0].partitions[0]"


@case(
    "admin/deleted-and-made-again",
    guarantee="adm-006",
    needs=["partitions"],
    apis={"DeleteTopics": 1},
    smoke=True,
    detects=["M40f"],
)
def a_topic_made_again_is_another(wire, topic):
    """A deleted topic MUST be unknown; created again under its name it MUST be empty, begin at 0, and have another id.
    """
    wire.produce(topic, batch("old", "older"))
    old_id = wire.topic_id(topic)
    wire.delete_topic(topic).must_succeed()
    unknown = errors.UNKNOWN_TOPIC_OR_PARTITION
    for node in wire.nodes:
        wire.eventually(
            lambda node=node: wire.metadata(topic, to=node).must_have("topics[0].error_code", unknown), within=20
        )

    wire.create_topic(topic).must_succeed()
    wire.await_topic(topic)
    wire.must(
        old_id == ZERO_UUID or wire.topic_id(topic) != old_id, f"the new topic has the id of the old one, {old_id}"
    )
    wire.list_offsets(topic, at="latest").must_name(offset=0)
    wire.produce(topic, batch("new")).must_be_at(0)
    wire.read_all(topic).must_hold("new")


@case(
    "admin/delete-unknown-topic",
    guarantee="adm-006",
    apis={"DeleteTopics": 1},
    detects=[edit_answer("responses[].error_code", set=0, api="DeleteTopics")],
)
def deleting_what_is_not_there_is_refused(wire, topic):
    """Deleting a topic that does not exist MUST be refused with UNKNOWN_TOPIC_OR_PARTITION, and harm no other."""
    absent = wire.name("absent")
    answer = wire.delete_topic(absent, topic)
    codes = {row.name: row.error_code for row in answer.struct.responses}
    wanted = {absent: errors.UNKNOWN_TOPIC_OR_PARTITION, topic: 0}
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "responses")


@case(
    "admin/delete-records",
    guarantee="adm-011",
    apis={"DeleteRecords": 0},
    smoke=True,
    detects=["M40h"],
)
def records_below_an_offset_are_gone(wire, topic):
    """DeleteRecords MUST move the log start to the requested offset, -1 meaning the high watermark, and return the log
    start.

    In the middle of a batch too. At or below the log start nothing happens; above the high watermark it is refused.
    """
    wire.produce(topic, batch("a", "b", "c"))
    wire.produce(topic, batch("d"))

    for asked, start in ((2, 2), (0, 2), (2, 2), (3, 3)):
        wire.delete_records(topic, offset=asked).must_succeed().must_have(f"{ROW}.low_watermark", start)
        wire.list_offsets(topic, at="earliest").must_name(offset=start)
    for outside in (5, -2):
        wire.delete_records(topic, offset=outside).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
    wire.fetch(topic, offset=2).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
    wire.read_all(topic).must_hold("d")
    wire.delete_records(topic, offset=-1).must_succeed().must_have(f"{ROW}.low_watermark", 4)
    wire.produce(topic, batch("e")).must_be_at(4)
    wire.read_all(topic).must_hold("e")


@case(
    "admin/delete-records-refused",
    guarantee="adm-011",
    needs=["topic-settings"],
    apis={"DeleteRecords": 0},
    detects=[edit_answer("topics[].partitions[].error_code", set=0, api="DeleteRecords")],
)
def a_compacted_topic_keeps_its_records(wire, topic_of):
    """DeleteRecords MUST be refused on a topic that is only compacted, and for a partition that does not exist."""
    topic = topic_of(configs={"cleanup.policy": "compact"})
    wire.produce(topic, batch("a", key=b"k"))
    wire.delete_records(topic, offset=1, retry=False).must_be_refused(errors.POLICY_VIOLATION)
    wire.delete_records(topic, 7, offset=1, retry=False).must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    wire.read_all(topic).must_hold("a")


@case(
    "admin/delete-records-lasts",
    guarantee="adm-011",
    needs=["terminate", "restart"],
    apis={"DeleteRecords": 0},
    detects=["M40h"],
)
def deleted_records_stay_deleted(wire, topic, nodes):
    """After DeleteRecords the log start MUST still be there after a clean restart."""
    wire.produce(topic, batch("a", "b", "c"))
    wire.delete_records(topic, offset=2).must_succeed()
    nodes.stop_and_start(nodes.of(topic))
    wire.await_topic(topic)
    wire.list_offsets(topic, at="earliest").must_name(offset=2)
    wire.fetch(topic, offset=1).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
    wire.read_all(topic).must_hold("c")
