"""Offsets of topics that are deleted, wherever their replicas were, and whoever coordinates the groups (KAFKA-2000)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits.removed import COMMITS
from brokertrial.suites.cases.replication._roles import placed

WITHIN_S, LAST_BY_NAME, NAMES = 30, 9, 60


@case(
    "commits/gone-wherever-the-topic-was",
    guarantees=["cmt-015", "cmt-002"],
    level="should",
    apis={**COMMITS, "CreateTopics": 5, "DeleteTopics": 1},
    needs=["three-nodes", "leaders", "partitions", "topic-settings"],
    detects=["B186"],
)
def a_topic_takes_its_offsets_from_every_coordinator(wire, rng):
    """Deleting a topic SHOULD remove the offsets that each group has for it, whether the group's coordinator held a
    replica of it or not, and one that is made again under its name SHOULD begin without any, wherever it is placed.
    What groups have for other topics, and what they commit for the new one, stays.

    A group of each node; topics on one node each, and on two.
    """
    nodes = list(wire.nodes)
    groups = _coordinated(wire)
    kinds = [[node] for node in nodes] + [rng.sample([one for one in nodes if one != node], 2) for node in nodes]
    topics = [placed(wire, f"gone-{number}", on) for number, on in enumerate(kinds)]
    left = placed(wire, "left", [rng.choice(nodes)])
    for group in groups:
        offsets = {(topic, 0): number for number, topic in enumerate([*topics, left], 1)}
        wire.commit_all(group, offsets).must_succeed()
    wire.delete_topic(*topics).must_succeed()
    for group in groups:
        for topic in topics:
            wire.eventually(lambda of=(group, topic): _by_name(wire, *of).must_be(-1), within=WITHIN_S)

    again = rng.sample(topics, 3)
    for topic in again:
        wire.create_topic(topic, partitions=-1, assignments={0: [rng.choice(nodes)]}).must_succeed()
        wire.await_topic(topic)
    for group in groups:
        for topic in again:
            wire.committed(group, topic).must_be(-1)
        wire.commit_all(group, {(topic, 0): 100 + number for number, topic in enumerate(again)}).must_succeed()
    for group in groups:
        for number, topic in enumerate(again):
            wire.committed(group, topic).must_be(100 + number)
        wire.committed(group, left).must_be(len(topics) + 1)


def _coordinated(wire):
    """A group of each node that coordinates any."""
    found: dict[int, str] = {}
    for number in range(NAMES):
        name = wire.name(f"g{number}")
        found.setdefault(wire.coordinator(name), name)
        if len(found) == len(wire.nodes):
            break
    return list(found.values())


def _by_name(wire, group, topic):
    """In the newest version that names topics instead of giving their ids."""
    return wire.committed(group, topic, version=min(LAST_BY_NAME, max(wire.versions("OffsetFetch"))))
