"""Topics and partitions in ZooKeeper: what is written of them is what clients are answered (Kafka up to 3.9)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.zookeeper.brokers import WITHIN_S
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID

NEEDS = ("zookeeper", "started", "partitions")


@case(
    "zookeeper/topics-are-as-told",
    guarantee="zk-008",
    needs=NEEDS,
    apis={"Metadata": 7},
    detects=[edit_answer("topics[].partitions[].leader_epoch", add=1, api="Metadata")],
)
def a_topic_is_in_zookeeper_as_metadata_returns_it(wire, topic_of, zookeeper):
    """/brokers/topics/T and the state of each partition MUST be persistent and say what Metadata says: replicas, topic
    id, leader, leader epoch and in-sync replicas."""
    topic = topic_of(partitions=3)
    wire.eventually(lambda: _must_agree(wire, zookeeper, topic), within=10)


def _must_agree(wire, zookeeper, topic):
    answer = wire.metadata(topic)
    row = answer.struct.topics[0]
    seen = zookeeper.node(f"/brokers/topics/{topic}")
    answer.must(seen.exists and seen.ephemeral_owner == 0, f"{seen.path} is missing, or ephemeral")
    written = {int(number): nodes for number, nodes in seen.fields["partitions"].items()}
    listed = {part.partition_index: list(part.replica_nodes) for part in row.partitions}
    answer.must(written == listed, f"ZooKeeper has the replicas {written}, Metadata {listed}")
    if getattr(row, "topic_id", ZERO_UUID) != ZERO_UUID:
        answer.must(seen.topic_id == row.topic_id, "the topic ids differ")
    for part in row.partitions:
        state = zookeeper.state(topic, part.partition_index)
        answer.must(state.exists and state.ephemeral_owner == 0, f"{state.path} is missing, or ephemeral")
        found = (state.fields["leader"], state.fields["leader_epoch"], sorted(state.fields["isr"]))
        wanted = (part.leader_id, part.leader_epoch, sorted(part.isr_nodes))
        answer.must(found == wanted, f"{state.path} has leader, epoch and in-sync {found}; Metadata has {wanted}")


@case(
    "zookeeper/states-only-advance",
    guarantee="zk-009",
    needs=[*NEEDS, "three-nodes", "terminate", "restart", "topic-settings"],
    apis={"Metadata": 7},
    detects=[edit_answer("topics[].partitions[].leader_epoch", add=-1, api="Metadata")],
)
def the_state_of_a_partition_only_advances(wire, topic_of, nodes, zookeeper):
    """In each state of a partition the leader MUST be in sync (or -1) and the in-sync replicas be replicas; the leader
    epoch and the node's version MUST only rise, and Metadata never show an older epoch than it wrote before.

    Each broker is stopped and started in turn.
    """
    topic = topic_of(partitions=1, replicas=3)
    replicas = set(zookeeper.node(f"/brokers/topics/{topic}").fields["partitions"]["0"])
    last = zookeeper.state(topic)
    for node in nodes.ids:
        nodes.terminate(node)
        last = _advanced(wire, zookeeper, topic, last, replicas, lambda isr, node=node: node not in isr)
        nodes.start(node)
        last = _advanced(wire, zookeeper, topic, last, replicas, lambda isr: set(isr) == replicas)
    shown = wire.refresh_metadata(topic).topics[0].partitions[0].leader_epoch
    wire.must(shown >= last.fields["leader_epoch"], f"Metadata shows the leader epoch {shown}; it was {last.fields}")


def _advanced(wire, zookeeper, topic, last, replicas, reached):
    """Looks at every state that it can see until the in-sync replicas are as wanted; returns the last."""
    seen = [last]

    def look():
        now, before = zookeeper.state(topic), seen[-1]
        isr, leader = now.fields["isr"], now.fields["leader"]
        wire.must(leader == -1 or leader in isr, f"the leader {leader} is not in sync: {now.fields}")
        wire.must(set(isr) <= replicas, f"{isr} are in sync; the replicas are {sorted(replicas)}")
        rose = now.version >= before.version and now.fields["leader_epoch"] >= before.fields["leader_epoch"]
        wire.must(
            rose, f"the state was {before.fields} (version {before.version}), and is {now.fields} ({now.version})"
        )
        changed = now.fields != before.fields and now.version == before.version
        wire.must(not changed, f"the state changed in version {now.version}: {before.fields} to {now.fields}")
        seen.append(now)
        return reached(isr)

    wire.until(
        look, within=WITHIN_S, what=f"the in-sync replicas of {topic} follow the broker that was stopped or started"
    )
    return seen[-1]


@case(
    "zookeeper/deletion-removes-everything",
    guarantee="zk-010",
    needs=NEEDS,
    apis={"DeleteTopics": 1},
    detects=[edit_answer("responses[].error_code", set=3, api="DeleteTopics")],
)
def a_deleted_topic_is_gone_from_zookeeper(wire, topic_of, zookeeper):
    """A deleted topic MUST leave nothing, neither its node nor the request of its deletion, and be unknown."""
    topic = topic_of(partitions=2)
    wire.must(zookeeper.state(topic, 1).exists, f"the state of partition 1 of {topic} is not in ZooKeeper")
    wire.delete_topic(topic).must_succeed()
    wire.until(
        lambda: (
            not zookeeper.node(f"/brokers/topics/{topic}").exists
            and topic not in zookeeper.node("/admin/delete_topics").children
        ),
        within=WITHIN_S,
        what=f"{topic} and the request of its deletion are gone from ZooKeeper",
    )
    wire.eventually(
        lambda: wire.metadata(topic).must_have("topics[0].error_code", errors.UNKNOWN_TOPIC_OR_PARTITION), within=10
    )
