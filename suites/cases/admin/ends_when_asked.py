"""A node that is asked to stop: it ends, whatever it has to delete (KAFKA-16588)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch

DELAY = "log.segment.delete.delay.ms"
RESTS_S = 33
"""Kafka before 3.8 begins with some of its chores half a minute after it was started."""


@case(
    "admin/ends-when-it-is-asked-to",
    guarantees=["prod-018", "adm-010"],
    apis={"DeleteTopics": 1},
    needs=["chosen-settings", "started", "partitions", "terminate", "restart"],
    detects=["K30"],
)
def a_node_ends_when_it_is_asked_to(wire, nodes):
    """A node that is asked to stop MUST end by itself, also where deleted files are removed at once
    (log.segment.delete.delay.ms=0), and MUST have what it had when it is back.

    It is asked half a minute after its start, in which topics were deleted; its target says within what time it must
    end.
    """
    nodes.start_with({DELAY: "0"})
    kept = wire.new_topic()
    wire.produce(kept, batch("a", "b")).must_be_at(0)
    for _ in range(3):
        gone = wire.new_topic()
        wire.produce(gone, batch("c")).must_be_at(0)
        wire.delete_topic(gone).must_succeed()
    wire.rest(RESTS_S)
    for node in wire.nodes:
        nodes.must_end(node)
        nodes.start(node)
        wire.await_topic(kept)
    wire.read_all(kept).must_hold("a", "b")
