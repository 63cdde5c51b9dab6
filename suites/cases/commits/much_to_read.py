"""Coordinators that have much to read before they can answer, and take over from each other again and again."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES
from brokertrial.suites.cases.replication._handing_over import hand_over
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC

GROUPS, PARTITIONS, TIMES, TURNS = 5, 48, 40, 5


@case(
    "commits/much-to-read-in-turn",
    guarantees=["cmt-002", "cmt-017"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2} | MOVES,
    needs=["started", "three-nodes", "leaders", "partitions"],
    detects=["Y43"],
)
def each_coordinator_comes_to_an_end_of_reading(wire, topic_of, nodes, rng):
    """However much was committed, and however often a node has taken over groups before, it MUST come to tell the
    offsets that were committed last of each group that it takes over, and take the next ones.

    Five groups of 48 partitions, each committed 40 times: more than is read back at once. The coordinator of a drawn
    one hands over all that it coordinates to a drawn other node, five times.
    """
    topic = topic_of(partitions=PARTITIONS)
    offsets = {wire.name(f"g{number}"): 0 for number in range(GROUPS)}
    for _ in range(TIMES):
        for group in offsets:
            _commit(wire, group, topic, offsets)
    for _ in range(TURNS):
        former = nodes.of_group(rng.choice(list(offsets)))
        hand_over(wire, OFFSETS_TOPIC, former, rng.choice([node for node in wire.nodes if node != former]))
        for group in offsets:
            wire.forget_coordinator(group)
            _must_be_told(wire, group, topic, offsets)
            _commit(wire, group, topic, offsets)
            _must_be_told(wire, group, topic, offsets)


def _commit(wire, group, topic, offsets):
    offsets[group] += 1
    wire.commit_all(group, {(topic, index): _of(offsets[group], index) for index in range(PARTITIONS)}).must_succeed()


def _must_be_told(wire, group, topic, offsets):
    told = wire.committed_all(group, [(topic, index) for index in range(PARTITIONS)]).must_succeed()
    found = {index: offset for (_, index), offset in told.offsets.items()}
    wanted = {index: _of(offsets[group], index) for index in range(PARTITIONS)}
    wrong = {index: (found.get(index), due) for index, due in wanted.items() if found.get(index) != due}
    told.must(not wrong, f"partitions with another offset than was committed last (told, committed): {wrong}")


def _of(times, index):
    return 1_000 * times + index
