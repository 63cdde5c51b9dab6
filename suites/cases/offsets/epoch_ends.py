"""OffsetForLeaderEpoch: where an epoch ended, by which a client notices that a log was cut (KIP-101, KIP-320)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch

ROW = "topics[0].partitions[0]"


@case(
    "offsets/end-of-an-epoch",
    guarantee="repl-008",
    needs=["leaders", "terminate", "restart"],
    apis={"OffsetForLeaderEpoch": 2, "Metadata": 7},
    detects=["M32b"],
)
def an_epoch_ends_where_the_next_begins(wire, topic, nodes):
    """Asked for an earlier leader epoch, a broker MUST name the newest epoch up to it that it knows, and the offset at
    which the one after that began; for the current epoch the end of the log.
    """
    wire.produce(topic, batch("a", "b")).must_succeed()
    old = wire.leader_epoch(topic)
    nodes.stop_and_start(nodes.of(topic))
    wire.await_topic(topic)
    wire.produce(topic, batch("c")).must_succeed()
    new = wire.read_all(topic).batches[-1].header.leader_epoch  # it may have changed again before that
    if old < 0 or new <= old:
        wire.not_applicable(f"the leader epoch was {old} and is {new}: see records/epoch-of-the-leader")

    for epoch, known, end in ((old, old, 2), (new - 1, old, 2), (new, new, 3)):
        answer = wire.offset_for_leader_epoch(topic, epoch=epoch).must_succeed()
        answer.must_have(f"{ROW}.leader_epoch", known).must_have(f"{ROW}.end_offset", end)
