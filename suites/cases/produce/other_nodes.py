"""Produce to nodes that do not lead the partition."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

ELSEWHERE = (
    errors.NOT_LEADER_OR_FOLLOWER,
    errors.LEADER_NOT_AVAILABLE,
    errors.UNKNOWN_TOPIC_OR_PARTITION,
    errors.UNKNOWN_TOPIC_ID,
)
"""Errors that send a client to look for the leader again."""


@case("produce/leaders-alone-take-records", guarantee="prod-009", needs=["three-nodes", "leaders"], detects=["M34d"])
def who_does_not_lead_takes_nothing(wire, topic, nodes):
    """A node that does not lead a partition MUST refuse to append to it, with an error that sends the client to look
    for the leader again (6, or 3, 5, 100).
    """
    wire.produce(topic, batch("first")).must_be_at(0)
    leader = nodes.of(topic)
    for node in nodes.ids:
        if node != leader:
            for acks in (1, -1):
                wire.produce(topic, batch(f"{node}"), acks=acks, to=node).must_be_refused(*ELSEWHERE)
    wire.produce(topic, batch("last")).must_be_at(1)
    wire.read_all(topic).must_hold("first", "last")
