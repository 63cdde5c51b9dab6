"""Metadata: what the cluster says of itself."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case


@case(
    "protocol/metadata-is-consistent",
    guarantee="prot-015",
    smoke=True,
    needs=["partitions"],
    apis={"Metadata": 2},
    detects=[edit_answer("topics[].partitions[2].isr_nodes[0]", set=4711, api="Metadata", skip=4)],
)
def every_node_that_is_named_is_listed(wire, topic_of):
    """Metadata MUST name as leader, replica and controller only brokers that it lists, and each id and partition once.

    Every node is asked, for one topic and for all; the cluster id is the same everywhere.
    """
    topic = topic_of(partitions=5)
    asked = [wire.metadata(topic, to=node, via="named") for node in wire.nodes]
    asked += [wire.metadata(all_topics=True, to=node, via="all") for node in wire.nodes]
    for answer in asked:
        _must_be_consistent(answer)
        partitions = [len(row.partitions) for row in answer.struct.topics if row.name == topic]
        answer.must(partitions == [5], f"{topic} has 5 partitions and is named with {partitions}", "topics")
    clusters = {str(answer.struct.cluster_id) for answer in asked}
    wire.must(len(clusters) == 1, f"the cluster id is {' and '.join(sorted(clusters))}", *asked[:2])


@case(
    "protocol/all-topics-or-none",
    guarantee="prot-016",
    apis={"Metadata": 1},
    needs=["partitions"],
    detects=[edit_answer("topics[]", drop=True, api="Metadata", fields={"topics": None})],
)
def null_means_all_and_empty_means_none(wire, topic_of):
    """Metadata MUST take a null list of topics for all, an empty one for none; in version 0 an empty one for all."""
    made = {topic_of(what="a"), topic_of(what="b"), topic_of(what="c")}
    served = wire.versions("Metadata")
    for version in sorted({served[0], 1, served[-1]}):
        with wire.part(f"all in v{version}"):
            every = wire.metadata(all_topics=version > 0, version=version)
            missing = made - {row.name for row in every.struct.topics}
            every.must(not missing, f"all topics were asked for, and {', '.join(sorted(missing))} is missing", "topics")
        if version > 0:
            with wire.part(f"none in v{version}"):
                none = wire.metadata(version=version).must_succeed()
                none.must(not none.struct.topics, "no topic was asked for, and topics are named", "topics")
                none.must(bool(none.struct.brokers), "no broker is listed", "brokers")


@case(
    "protocol/topic-named-twice",
    guarantee="prot-017",
    detects=[edit_answer("topics[].error_code", set=17, api="Metadata", skip=6)],
)
def a_topic_may_be_named_twice(wire, topic_of):
    """Metadata for a topic that is named twice SHOULD be answered as for one, with one row or two equal ones."""
    topic, other = topic_of(what="a"), topic_of(what="b")
    for names in ([topic, topic], [topic, other, topic]):
        answer = wire.metadata(*names).must_succeed()
        found = {row.name: sorted(part.partition_index for part in row.partitions) for row in answer.struct.topics}
        wanted = {name: sorted(wire.known_partitions(name)) for name in names}
        answer.must(found == wanted, f"the topics and partitions are {found}; they must be {wanted}", "topics")


def _must_be_consistent(answer):
    """No broker and no partition twice, and no node id that is not among the brokers."""
    answer.must_succeed()
    listed = [broker.node_id for broker in answer.struct.brokers]
    answer.must(len(listed) == len(set(listed)), f"the brokers are {listed}: one is there twice", "brokers")
    known = {*listed, -1}
    answer.must(
        answer.struct.controller_id in known,
        f"the controller {answer.struct.controller_id} is not among the brokers {listed}",
        "controller_id",
    )
    for place, row in enumerate(answer.struct.topics):
        numbers = [part.partition_index for part in row.partitions]
        answer.must(len(numbers) == len(set(numbers)), f"{row.name} has partitions {numbers}", f"topics[{place}]")
        for at, part in enumerate(row.partitions):
            # A replica may be down and so not listed; who leads or is in sync is up.
            named = {part.leader_id, *part.isr_nodes} if part.error_code == 0 else set()
            path = f"topics[{place}].partitions[{at}]"
            answer.must(
                named <= known and set(part.isr_nodes) <= set(part.replica_nodes),
                f"{row.name}-{part.partition_index} has leader {part.leader_id}, in-sync {part.isr_nodes} of replicas "
                f"{part.replica_nodes}; the brokers are {listed}",
                f"{path}.leader_id",
                f"{path}.isr_nodes",
            )
