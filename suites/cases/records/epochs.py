"""The leader epoch that a batch carries: it shows a client under which leader its records were written (KIP-320)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch


@case(
    "records/epoch-of-the-leader",
    guarantees=["rec-005", "repl-007"],
    needs=["leaders", "terminate", "restart"],
    apis={"Fetch": 11, "Metadata": 7},
    detects=["M32c", "M32d"],
)
def a_batch_carries_the_epoch_it_was_written_in(wire, topic, nodes):
    """A batch MUST carry the leader epoch under which it was appended, whatever its producer wrote there, and MUST keep
    it when the leader changes; and the epoch MUST rise with each change.

    A clean restart changes the leader, if only to itself. Where the epoch does not rise, a truncated log cannot be
    distinguished from a whole one: the other cases about leader epochs decide nothing then.
    """
    if wire.case_context.has_zookeeper and len(wire.nodes) == 1:
        wire.not_applicable("with ZooKeeper the only broker leads again in the epoch that it left", "unsupported")
    wire.produce(topic, batch("old", leader_epoch=77)).must_be_at(0)
    old = wire.leader_epoch(topic)
    nodes.stop_and_start(nodes.of(topic))
    wire.await_topic(topic)
    new = wire.leader_epoch(topic)
    wire.must(old >= 0, f"Metadata shows the leader epoch {old}, though Fetch takes leader epochs")
    wire.must(new > old, f"the leader epoch was {old} before the restart and is {new} after it; it must rise")
    wire.produce(topic, batch("new", leader_epoch=77)).must_be_at(1)

    log = wire.read_all(topic)
    carried = [part.header.leader_epoch for part in log.batches]
    newest = wire.leader_epoch(topic)  # the leader may have changed again before the second was written
    message = f"the batches carry the leader epochs {carried}; they were {old}, and one of {new} to {newest}"
    log.must(len(carried) == 2 and carried[0] == old and new <= carried[1] <= newest, message)
