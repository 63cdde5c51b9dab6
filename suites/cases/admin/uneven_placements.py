"""Partitions placed by hand, on more nodes than the others of their topic."""

from brokertrial.suites.case import case
from brokertrial.wire import errors

UNEVEN = errors.INVALID_REPLICA_ASSIGNMENT
WITHIN_S, FIRST = 20, 2
"""Kafka 4.0 has dropped the older versions of CreateTopics (KIP-896)."""


@case(
    "admin/placed-by-hand-on-as-many-nodes",
    guarantees=["adm-002", "adm-004", "adm-007"],
    apis={"CreateTopics": FIRST, "CreatePartitions": 0},
    needs=["nodes", "partitions"],
    detects=["Z52", "Z53"],
)
def partitions_of_a_topic_have_as_many_replicas(wire, rng):
    """To place partitions of a topic by hand on different numbers of nodes MUST be refused with
    INVALID_REPLICA_ASSIGNMENT (39), in each version of CreateTopics and CreatePartitions, also with validate_only; then
    nothing is created or added. Partitions on as many nodes as the others MUST be accepted.

    The numbers and the partition that differs are drawn.
    """
    nodes = sorted(wire.nodes)
    for version in [one for one in wire.versions("CreateTopics") if one >= FIRST]:
        size, other = rng.sample(range(1, len(nodes) + 1), 2)
        sizes = [size] * rng.randint(2, 4)
        sizes[rng.randrange(len(sizes))] = other
        placed = {index: rng.sample(nodes, number) for index, number in enumerate(sizes)}
        for trial in (True, False):
            with wire.part(f"CreateTopics v{version} on {list(placed.values())}"):
                refused = wire.name("uneven")
                options = {"partitions": -1, "assignments": placed, "validate_only": trial, "version": version}
                wire.create_topic(refused, **options).must_be_refused(UNEVEN)
                wire.metadata(refused).must_have("topics[0].error_code", errors.UNKNOWN_TOPIC_OR_PARTITION)
    for version in wire.versions("CreatePartitions"):
        _grown(wire, rng, nodes, version)


def _grown(wire, rng, nodes, version):
    topic, size = wire.name("even"), rng.randint(1, len(nodes))
    wire.create_topic(topic, partitions=-1, assignments={0: rng.sample(nodes, size)}).must_succeed()
    wire.await_topic(topic)
    other = rng.choice([number for number in range(1, len(nodes) + 1) if number != size])
    for more in ([other], [size, other], [other, other]):
        placed = [rng.sample(nodes, number) for number in more]
        for trial in (True, False):
            with wire.part(f"CreatePartitions v{version} on {placed}, where there is one on {size} nodes"):
                grown = wire.create_partitions(
                    topic, 1 + len(more), assignments=placed, validate_only=trial, version=version
                )
                grown.must_be_refused(UNEVEN)
    placed = rng.sample(nodes, size)
    wire.create_partitions(topic, 2, assignments=[placed], version=version).must_succeed()
    wire.await_topic(topic)
    wire.eventually(lambda: _must_be_on(wire, topic, placed), within=WITHIN_S)


def _must_be_on(wire, topic, placed):
    listed = wire.metadata(topic).must_succeed()
    found = {part.partition_index: list(part.replica_nodes) for part in listed.struct.topics[0].partitions}
    listed.must(
        len(found) == 2 and found.get(1) == placed,
        f"its partitions are on {found}; there must be two, the second on {placed}",
        "topics[0].partitions",
    )
