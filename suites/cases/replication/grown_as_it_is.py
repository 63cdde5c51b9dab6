"""CreatePartitions without a placement: how many replicas the new partitions have."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, partition, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

API, SOON_S = "CreatePartitions", 10
ALONE = {"min.insync.replicas": "1"}


@case(
    "replication/grown-by-as-many-replicas",
    guarantees=["adm-007"],
    apis={API: 0, "CreateTopics": 5, "AlterPartitionReassignments": 0},
    needs=["three-nodes", "leaders", "partitions", "topic-settings"],
    detects=["B104"],
)
def new_partitions_have_as_many_replicas(wire, rng):
    """Partitions that are added to a topic without saying where MUST have as many replicas as those that there are, on
    as many nodes, however many new topics get by default: in every version, for several topics of one request, and
    where the topic was moved to more or fewer nodes since it was made.

    One topic of each number of replicas; two that are moved.
    """
    order = rng.sample(list(wire.nodes), 3)
    topics = {placed(wire, f"made with {count}", order[:count], **ALONE): count for count in (1, 2, 3)}
    for before, count in ((1, 2), (3, 1)):
        topics[_moved(wire, order[:before], order[-count:])] = count
    total = 1
    for version in wire.versions(API):
        chosen = rng.sample(list(topics), len(topics))
        more = total + rng.randint(1, 2)
        rows = [{"name": topic, "count": more, "assignments": None} for topic in chosen]
        asked = request(API, topics=rows, timeout_ms=20_000, validate_only=False)
        answer = wire.ask(asked, version=version, to=wire.controller).must_succeed()
        with wire.part(f"v{version}"):
            for topic in chosen:
                wire.eventually(partial(_must_be_on_as_many, wire, topic, more, topics[topic], answer), within=SOON_S)
        total = more
    for topic in topics:
        wire.await_topic(topic)
        wire.produce(topic, batch("a"), total - 1).must_be_at(0)


def _moved(wire, before, after):
    topic = placed(wire, f"moved from {len(before)}", before, **ALONE)
    reassign(wire, {topic: after}, to=wire.controller)
    wire.until(
        lambda: partition(wire, topic).replica_nodes == after, within=WITHIN_S, what=f"{topic} is held by {after}"
    )
    return topic


def _must_be_on_as_many(wire, topic, total, count, answer):
    for node in wire.nodes:
        row = wire.metadata(topic, to=node).struct.topics[0]
        on = {part.partition_index: sorted({*part.replica_nodes}) for part in row.partitions}
        wire.must(
            sorted(on) == list(range(total)) and all(len(each) == count for each in on.values()),
            f"node {node} shows replicas {on}; there must be {total} partitions, each of {count} replicas as before",
            answer,
        )
