"""Fetch with a leader epoch (KIP-320): an old one is fenced, one from the future is not known."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors


@case(
    "fetch/epoch-of-the-future",
    guarantee="fetch-011",
    needs=["leaders"],
    apis={"Fetch": 9, "Metadata": 7},
    detects=[edit_answer("responses[].partitions[].error_code", set=0, api="Fetch")],
)
def an_epoch_that_is_not_known_yet_is_refused(wire, topic):
    """A fetch with a newer leader epoch than the broker's MUST be refused with UNKNOWN_LEADER_EPOCH.

    With the current one, and with -1, which asks for no check, it works.
    """
    wire.produce(topic, batch("a"))
    if (epoch := wire.leader_epoch(topic)) < 0:
        wire.not_applicable("the broker shows no leader epochs")

    wire.fetch(topic, leader_epoch=epoch).must_hold("a")
    wire.fetch(topic, leader_epoch=-1).must_hold("a")
    for newer in (epoch + 1, epoch + 1_000):
        wire.fetch(topic, leader_epoch=newer, retry=False).must_be_refused(errors.UNKNOWN_LEADER_EPOCH)


@case(
    "fetch/epoch-of-the-past",
    guarantees=["fetch-011", "offs-009"],
    needs=["leaders", "terminate", "restart"],
    apis={"Fetch": 9, "ListOffsets": 4, "Metadata": 7},
    detects=[edit_answer("responses[].partitions[].error_code", set=0, api="Fetch")],
)
def an_epoch_of_the_past_is_fenced(wire, topic, nodes):
    """After the leader changed, a request with the old leader epoch MUST be refused with FENCED_LEADER_EPOCH.

    Fetch and ListOffsets alike; with the current epoch and with -1 both work. A clean restart changes the leader, if
    only to itself.
    """
    wire.produce(topic, batch("a"))
    old = wire.leader_epoch(topic)
    nodes.stop_and_start(nodes.of(topic))
    wire.await_topic(topic)
    new = wire.leader_epoch(topic)
    if old < 0 or new <= old:
        wire.not_applicable(f"the leader epoch was {old} and is {new}: see records/epoch-of-the-leader")

    wire.fetch(topic, leader_epoch=old, retry=False).must_be_refused(errors.FENCED_LEADER_EPOCH)
    wire.list_offsets(topic, leader_epoch=old, retry=False).must_be_refused(errors.FENCED_LEADER_EPOCH)
    wire.eventually(lambda: works_with(wire, topic, wire.leader_epoch(topic)), within=10)  # it may change again
    works_with(wire, topic, -1)


def works_with(wire, topic, epoch):
    """Fetch and ListOffsets answer a client that knows this leader epoch."""
    wire.fetch(topic, leader_epoch=epoch).must_hold("a")
    wire.list_offsets(topic, leader_epoch=epoch).must_name(offset=1)
