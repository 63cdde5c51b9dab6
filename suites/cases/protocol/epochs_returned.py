"""The leader epoch that Metadata returns is the one in which records are written, over restarts (KIP-320)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

WITH_EPOCHS, WITHIN_S = 7, 30


@case(
    "protocol/leader-epochs-told-over-restarts",
    guarantees=["prot-015", "repl-007"],
    apis={"Metadata": WITH_EPOCHS, "ListOffsets": 4},
    needs=["terminate", "kill", "restart"],
    detects=["H29"],
)
def the_epoch_that_is_returned_is_the_one_in_force(wire, topic, nodes, rng):
    """The leader epoch of a partition MUST be the same in every version of Metadata, in DescribeTopicPartitions, in
    ListOffsets and in the batch that was written last, and MUST NOT go back when its leader stops or is killed.
    """
    last = -1
    for act in (None, *rng.sample((nodes.stop_and_start, nodes.crash), 2)):
        if act:
            act(wire.leader(topic))
            wire.await_topic(topic)
        last = wire.eventually(lambda last=last: _must_agree(wire, topic, last), within=WITHIN_S)


def _must_agree(wire, topic, last):
    offset = wire.produce(topic, batch("a")).must_succeed().offset
    written = wire.read_all(topic, offset=offset).batches[-1].header.leader_epoch
    leader = wire.leader(topic)
    epochs = {"ListOffsets": wire.list_offsets(topic, at="latest").must_succeed().leader_epoch}
    for version in (each for each in wire.versions("Metadata") if each >= WITH_EPOCHS):
        answer = wire.metadata(topic, to=leader, version=version).must_succeed()
        epochs[f"Metadata v{version}"] = answer.struct.topics[0].partitions[0].leader_epoch
    if wire.versions("DescribeTopicPartitions"):
        asked = request("DescribeTopicPartitions", topics=[{"name": topic}], response_partition_limit=9)
        page = wire.ask(asked, to=leader).must_succeed()
        epochs["DescribeTopicPartitions"] = page.struct.topics[0].partitions[0].leader_epoch
    wrong = {where: epoch for where, epoch in epochs.items() if epoch != written}
    wire.must(not wrong, f"the last batch has the leader epoch {written}; reported are {wrong}")
    wire.must(written >= last, f"the leader epoch is {written}; it was {last}")
    return written
