"""CreatePartitions: the number asked for is the new total (KIP-195)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors


@case(
    "admin/more-partitions",
    guarantee="adm-007",
    needs=["partitions"],
    apis={"CreatePartitions": 0},
    smoke=True,
    detects=["M40e"],
)
def the_total_is_what_was_asked_for(wire, topic_of):
    """CreatePartitions MUST bring a topic to the total asked for; the old partitions keep their records and offsets.

    New ones begin at 0.
    """
    topic = topic_of(partitions=2)
    wire.produce(topic, batch("a", "b"), 1)
    wire.create_partitions(topic, 4).must_succeed()
    wire.eventually(lambda: shown(wire, topic, 4), within=20)
    wire.await_topic(topic)

    wire.read_all(topic, 1).must_hold("a", "b")
    wire.produce(topic, batch("c"), 1).must_be_at(2)
    for partition in (2, 3):
        wire.produce(topic, batch("d"), partition).must_be_at(0)


@case(
    "admin/fewer-partitions",
    guarantees=["adm-007", "adm-004"],
    needs=["partitions"],
    apis={"CreatePartitions": 0},
    detects=[edit_answer("results[].error_code", set=0, api="CreatePartitions")],
)
def a_total_that_is_not_higher_is_refused(wire, topic_of):
    """A total that is not above the present one MUST be refused with INVALID_PARTITIONS, an unknown topic with 3.

    With validate_only the answers MUST be the same, and nothing changes.
    """
    topic, absent = topic_of(partitions=2), wire.name("absent")
    for trial in (True, False):
        for count in (2, 1, 0, -1):
            wire.create_partitions(topic, count, validate_only=trial).must_be_refused(errors.INVALID_PARTITIONS)
        wire.create_partitions(absent, 3, validate_only=trial).must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    wire.create_partitions(topic, 5, validate_only=True).must_succeed()
    shown(wire, topic, 2)
    wire.create_partitions(topic, 3).must_succeed()
    wire.eventually(lambda: shown(wire, topic, 3), within=20)


@case(
    "admin/partitions-placed-by-hand",
    guarantee="adm-007",
    needs=["partitions", "leaders"],
    apis={"CreatePartitions": 0},
    detects=[edit_answer("results[].error_code", set=0, api="CreatePartitions")],
)
def partitions_may_be_placed_by_hand(wire, topic_of):
    """Partitions placed by hand MUST be where they were put; a wrong place MUST be refused."""
    topic = topic_of(partitions=1, replicas=1)
    home, stranger = wire.nodes[-1], max(wire.nodes) + 1_000
    for wrong in ([[stranger]], [[home], [home]]):
        wire.create_partitions(topic, 2, assignments=wrong).must_be_refused(errors.INVALID_REPLICA_ASSIGNMENT)
    wire.create_partitions(topic, 2, assignments=[[home]]).must_succeed()
    wire.eventually(lambda: shown(wire, topic, 2), within=20)
    answer = wire.metadata(topic)
    placed = {part.partition_index: part.replica_nodes for part in answer.struct.topics[0].partitions}
    answer.must(placed[1] == [home], f"the new partition is on {placed[1]}; it must be on {[home]}", "topics")


def shown(wire, topic, count):
    """Every node shows the topic with so many partitions."""
    for node in wire.nodes:
        answer = wire.metadata(topic, to=node)
        found = sorted(part.partition_index for part in answer.struct.topics[0].partitions)
        answer.must(found == list(range(count)), f"node {node} shows the partitions {found}, not {count}", "topics")
