"""Partitions whose only replica is on a dead node: how they are described meanwhile, and that nothing else suffers."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
ELIGIBLE = "eligible.leader.replicas.version"
WITH_OFFLINE = 5
"""From this version on Metadata names the replicas that are offline."""


@case(
    "replication/described-without-a-leader",
    guarantees=["kraft-005", "adm-006", "repl-002"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"Metadata": 1, "DeleteTopics": 1, "CreateTopics": 2},
    detects=["Z39"],
)
def a_partition_without_a_leader_is_described_as_it_is(wire, nodes, rng):
    """A partition whose only replica is on a dead node MUST be described in every version of Metadata, and by
    DescribeTopicPartitions, with LEADER_NOT_AVAILABLE (5) where it has an error, no leader, and its replica, which MUST
    be offline, and in sync still, or eligible to lead where the cluster keeps such replicas (KIP-966). Other topics
    MUST be made and deleted meanwhile, and the partition MUST be led again, with its records, when the node is back.
    """
    dead = rng.choice([node for node in wire.nodes if node != wire.controller()])
    alive = [node for node in wire.nodes if node != dead]
    lost, other = placed(wire, "lost", [dead], **ALONE), placed(wire, "other", [alive[0]], **ALONE)
    wire.produce(lost, batch("a")).must_be_at(0)
    all_in_sync(wire, lost)
    nodes.kill(dead)
    for node in alive:
        wire.eventually(lambda at=node: _must_be_without(wire, lost, dead, at), within=WITHIN_S)
        for version in wire.versions("Metadata"):
            if version:  # the first one leaves out replicas that are away
                _must_be_without(wire, lost, dead, node, version)
        if wire.versions("DescribeTopicPartitions"):
            rows = [{"name": lost}]
            page = wire.ask(request("DescribeTopicPartitions", topics=rows, response_partition_limit=9), to=node)
            row, eligible = page.struct.topics[0].partitions[0], _keeps_eligible(wire)
            _must_be_so(page, row, dead, eligible)
            candidates = [*(row.eligible_leader_replicas or ())]
            page.must(candidates == ([dead] if eligible else []), f"{candidates} are eligible to lead", "topics")
    gone = wire.delete_topic(other)
    gone.must(not gone.error, f"a topic is not deleted while another one has no leader: {gone.error}", "responses")
    made = wire.name("made")
    wire.create_topic(made, partitions=-1, assignments={0: [alive[1]]}, configs=ALONE).must_succeed()
    wire.until(lambda: partition(wire, made).leader_id == alive[1], within=WITHIN_S, what=f"{alive[1]} leads {made}")
    wire.produce(made, batch("b")).must_be_at(0)
    nodes.start(dead)
    wire.await_topic(lost)
    wire.read_all(lost).must_hold("a")


def _must_be_without(wire, topic, dead, node, version=None):
    rows = [{"name": topic}]
    answer = wire.ask(request("Metadata", topics=rows), version=version, to=node)
    row = answer.struct.topics[0].partitions[0]
    answer.must(row.error_code == errors.LEADER_NOT_AVAILABLE, f"its error is {row.error_code}; it must be 5", "topics")
    if answer.version >= WITH_OFFLINE:
        answer.must([*row.offline_replicas] == [dead], f"{[*row.offline_replicas]} are offline, not {dead}", "topics")
    _must_be_so(answer, row, dead, _keeps_eligible(wire))


def _keeps_eligible(wire):
    return wire.features.get(ELIGIBLE, 0) > 0


def _must_be_so(answer, row, dead, eligible):
    found = (row.leader_id, [*row.replica_nodes], [*row.isr_nodes])
    wanted = (NO_NODE, [dead], [] if eligible else [dead])
    answer.must(found == wanted, f"(leader, replicas, in sync) are {found}; they must be {wanted}", "topics")
