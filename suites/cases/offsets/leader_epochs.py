"""ListOffsets and leader epochs (KIP-320, KAFKA-7568)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire import errors

CODE = "topics[].partitions[].error_code"


@case(
    "offsets/epoch-of-the-record",
    guarantee="offs-007",
    needs=["leaders", "terminate", "restart"],
    apis={"ListOffsets": 4, "Metadata": 7},
    detects=["M29c"],
)
def an_offset_comes_with_the_epoch_of_its_record(wire, topic, nodes):
    """An offset SHOULD come with the leader epoch that its record was written in, the latest with the current one.

    Two records, and a clean restart between them: the leader changes, if only to itself.
    """
    t = wire.now_ms() - 10_000
    wire.produce(topic, batch(at=[t]))
    old = wire.leader_epoch(topic)
    nodes.stop_and_start(nodes.of(topic))
    wire.await_topic(topic)
    await_leaders(wire, of_all=True)
    new = wire.leader_epoch(topic)
    if old < 0 or new <= old:
        wire.not_applicable(f"the leader epoch was {old} and is {new}: see records/epoch-of-the-leader")
    wire.produce(topic, batch(at=[t + 1_000]))
    written = wire.read_all(topic).batches[-1].header.leader_epoch  # the leader may have changed again before that

    wire.list_offsets(topic, at="earliest").must_name(offset=0, leader_epoch=old)
    wire.list_offsets(topic, at=t).must_name(offset=0, leader_epoch=old)
    wire.list_offsets(topic, at=t + 1_000).must_name(offset=1, leader_epoch=written)
    wire.eventually(lambda: latest_is_of_now(wire, topic), within=10)


def latest_is_of_now(wire, topic):
    """The end of the log comes with the leader epoch that Metadata returns."""
    wire.list_offsets(topic, at="latest").must_name(offset=2, leader_epoch=wire.leader_epoch(topic))


@case(
    "offsets/epoch-of-the-future",
    guarantee="offs-009",
    needs=["leaders"],
    apis={"ListOffsets": 4, "Metadata": 7},
    detects=[edit_answer(CODE, set=0, api="ListOffsets")],
)
def an_epoch_that_is_not_known_yet_is_refused(wire, topic):
    """ListOffsets with a newer leader epoch than the broker's MUST be refused with UNKNOWN_LEADER_EPOCH."""
    wire.produce(topic, batch("a"))
    if (epoch := wire.leader_epoch(topic)) < 0:
        wire.not_applicable("the broker shows no leader epochs")

    for at in ("earliest", "latest", wire.now_ms() - 3_600_000):
        wire.list_offsets(topic, at=at, leader_epoch=epoch + 1, retry=False).must_be_refused(
            errors.UNKNOWN_LEADER_EPOCH
        )
    wire.list_offsets(topic, leader_epoch=epoch).must_name(offset=1)
    wire.list_offsets(topic, leader_epoch=-1).must_name(offset=1)


@case(
    "offsets/not-the-leader",
    guarantee="offs-009",
    needs=["leaders", "nodes"],
    apis={"ListOffsets": 4},
    detects=[edit_answer(CODE, set=0, api="ListOffsets")],
)
def a_node_that_does_not_lead_refuses(wire, topic):
    """ListOffsets at a node that does not lead the partition MUST be refused with NOT_LEADER_OR_FOLLOWER."""
    wire.produce(topic, batch("a"))
    leader = wire.leader(topic)
    for node in wire.nodes:
        answer = wire.list_offsets(topic, to=node, retry=False)
        if node == leader:
            answer.must_name(offset=1)
        else:
            answer.must_be_refused(errors.NOT_LEADER_OR_FOLLOWER)
