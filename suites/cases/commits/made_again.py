"""Offsets of a topic that was made again under its name, and a group whose coordinator changes later (KAFKA-2000)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits.removed import COMMITS
from brokertrial.suites.cases.replication._led_in_turn import APIS as MOVES
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead, shown
from brokertrial.suites.probe.coordinator_writes import (
    OFFSETS_TOPIC,
    coordinator_partition,
    make_coordinator_write,
    names_in,
)

WITHIN_S, LAST_BY_NAME = 30, 9


@case(
    "commits/kept-for-a-topic-made-again",
    guarantees=["cmt-002", "cmt-015", "grp-016"],
    apis={**COMMITS, "CreateTopics": 2, "DeleteTopics": 1, **MOVES},
    needs=["started", "three-nodes", "leaders", "partitions"],
    detects=["B154"],
)
def what_was_committed_since_stays(wire, group, topic_of, rng):
    """Deleting a topic takes the offsets that were committed for it until then, and no others: what a group commits for
    a topic that is made again under that name MUST stay, whichever nodes coordinate the group after that, and so MUST
    what it has of other topics. A topic that is deleted for good SHOULD leave none.

    Two groups, one of which has committed for the topic before it was deleted; their coordinator moves twice.
    """
    node = wire.coordinator(group)
    (row,) = wire.metadata(OFFSETS_TOPIC, to=node).struct.topics
    count = len(row.partitions)
    index = coordinator_partition(group, count)
    replicas = [*shown(wire, OFFSETS_TOPIC, node, index).replica_nodes]
    if len(replicas) < len(wire.nodes):
        wire.not_applicable(f"{OFFSETS_TOPIC} is not on each node")
    new = next(names_in(wire, index, count))
    again, gone, left = topic_of(what="again"), topic_of(what="gone"), topic_of(what="left")
    wire.commit_all(group, {(again, 0): 5, (gone, 0): 6, (left, 0): 7}).must_succeed()
    wire.delete_topic(again, gone).must_succeed()
    for topic in (again, gone):
        wire.eventually(lambda topic=topic: _by_name(wire, group, topic).must_be(-1), within=WITHIN_S)

    wire.create_topic(again).must_succeed()
    wire.await_topic(again)
    wire.commit(group, again, offset=50).must_succeed()
    wire.commit(new, again, offset=51).must_succeed()
    others = rng.sample([one for one in replicas if one != node], 2)
    for to in (others[0], rng.choice((node, others[1]))):
        comes_to_lead(wire, OFFSETS_TOPIC, [to, *(one for one in replicas if one != to)], to, index)
        for name in (group, new):
            wire.forget_coordinator(name)
        make_coordinator_write(wire, group)
        with wire.part(f"coordinated by {to}"):
            wire.committed(group, again).must_be(50)
            wire.committed(new, again).must_be(51)
            wire.committed(group, left).must_be(7)
        _by_name(wire, group, gone).must_be(-1)
    comes_to_lead(wire, OFFSETS_TOPIC, replicas, node, index)


def _by_name(wire, group, topic):
    """In the newest version that names topics instead of giving their ids."""
    return wire.committed(group, topic, version=min(LAST_BY_NAME, max(wire.versions("OffsetFetch"))))
