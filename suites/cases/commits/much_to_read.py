"""Coordinators that have much to read before they can answer, and take over from each other again and again."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits._much_committed import PARTITIONS, MuchCommitted
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES
from brokertrial.suites.cases.replication._handing_over import hand_over
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC

TIMES, TURNS = 40, 5


@case(
    "commits/much-to-read-in-turn",
    guarantees=["cmt-002", "cmt-017"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2} | MOVES,
    needs=["started", "three-nodes", "leaders", "partitions"],
    detects=["Y43"],
)
def each_coordinator_comes_to_an_end_of_reading(wire, topic_of, nodes, rng):
    """However much was committed, and however often a node has taken over groups before, it MUST finish loading and
    return the last committed offsets of each group that it takes over, and accept the next commits.

    Six groups of 48 partitions, each committed 40 times: more than is read in one pass. The coordinator of a drawn
    group hands over all that it coordinates to a drawn other node, five times.
    """
    committed = MuchCommitted(wire, topic_of(partitions=PARTITIONS))
    committed.commit(TIMES)
    for _ in range(TURNS):
        former = nodes.of_group(rng.choice(list(committed.times)))
        hand_over(wire, OFFSETS_TOPIC, former, rng.choice([node for node in wire.nodes if node != former]))
        for group in committed.times:
            wire.forget_coordinator(group)
            committed.must_be_returned(group)
            committed.commit_of(group)
            committed.must_be_returned(group)
