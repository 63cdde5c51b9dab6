"""A follower comes back to more than one answer of its leader can hold."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.probe import batch

PARTITIONS = 24
SMALLER, LARGER = 900_000, 1_500_000
"""Below and above what a follower asks for of one partition (replica.fetch.max.bytes, 1 MiB); all together are twice
what one answer holds (replica.fetch.response.max.bytes, 10 MiB)."""
SETTINGS = {"min.insync.replicas": "1", "max.message.bytes": "2000000"}


@case(
    "replication/catches-up-beyond-one-answer",
    guarantees=["repl-001", "repl-017"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"CreateTopics": 5},
    detects=["J07"],
)
def it_has_them_all(wire, nodes, rng):
    """A follower that was away while its leader took more than one answer to it can hold MUST come to be in sync in
    each partition, with nothing more being written, and MUST have what was acknowledged when it comes to lead.

    24 partitions, each with one batch: some are larger than what a follower asks for of one partition.
    """
    leads, follows = rng.sample(list(wire.nodes), 2)
    topic = wire.name("much")
    on = {index: [leads, follows] for index in range(PARTITIONS)}
    wire.create_topic(topic, partitions=-1, assignments=on, configs=SETTINGS).must_succeed()
    wire.await_topic(topic)
    nodes.kill(follows)
    wire.until(
        lambda: all(isr == [leads] for isr in _in_sync(wire, topic).values()),
        within=WITHIN_S,
        what=f"{follows} is in sync nowhere",
    )
    sizes = {index: LARGER if rng.random() < 0.25 else SMALLER for index in on}
    for index, size in sizes.items():
        wire.produce(topic, batch(f"{index} " * (size // len(f"{index} "))), index).must_be_at(0)
    nodes.start(follows)
    wire.eventually(lambda: _must_be_everywhere(wire, topic, follows), within=WITHIN_S)
    nodes.kill(leads)
    wire.until(
        lambda: all(row.leader_id == follows for row in _rows(wire, topic)),
        within=WITHIN_S,
        what=f"node {follows} leads each partition of {topic}",
    )
    for index in on:
        wire.list_offsets(topic, index).must_name(offset=1)
    for index in rng.sample(sorted(on), 4):
        seen = wire.fetch(topic, index, offset=0).must_succeed()
        found = [record.value[:3] for record in seen.records]
        seen.must(found == [f"{index} {index} "[:3].encode()], f"partition {index} begins with {found}")
    nodes.start(leads)


def _rows(wire, topic):
    return wire.refresh_metadata(topic).topics[0].partitions


def _in_sync(wire, topic):
    return {row.partition_index: [*row.isr_nodes] for row in _rows(wire, topic)}


def _must_be_everywhere(wire, topic, node):
    found = _in_sync(wire, topic)
    lacking = [index for index, isr in sorted(found.items()) if node not in isr]
    wire.must(not lacking, f"node {node} is back, and not in sync in {len(lacking)} partitions of {len(found)}")
