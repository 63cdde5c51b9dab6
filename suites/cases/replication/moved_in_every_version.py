"""AlterPartitionReassignments in each of its versions: any number of replicas, unless the client says otherwise."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

API = "AlterPartitionReassignments"
ALONE = {"min.insync.replicas": "1"}


@case(
    "replication/more-and-fewer-replicas-in-every-version",
    guarantees=["adm-014"],
    apis={API: 0},
    needs=["three-nodes", "partitions", "topic-settings"],
    detects=["B77"],
)
def the_number_of_replicas_may_change(wire, rng):
    """In each version, a partition MUST be given more replicas, fewer, and as many on other nodes: a client that does
    not say whether their number may change allows it (KIP-860), and one of version 0 cannot say so.
    """
    for version in wire.versions(API):
        order = rng.sample(list(wire.nodes), 3)
        topic = placed(wire, f"v{version}", order[:1], **ALONE)
        wire.produce(topic, batch("a")).must_be_at(0)
        for replicas in (order[:2], order, order[1:], order[:1]):
            rows = [{"name": topic, "partitions": [{"partition_index": 0, "replicas": replicas}]}]
            asked = request(API, timeout_ms=10_000, topics=rows)
            with wire.part(f"v{version}, {len(replicas)} replicas"):
                answer = wire.ask(asked, version=version, to=wire.controller()).must_succeed()
                answer.must_have("responses[0].partitions[0].error_code", 0)
                wire.eventually(lambda of=topic, on=replicas: _must_be_on(wire, of, on), within=WITHIN_S)
        wire.read_all(topic).must_hold("a")


def _must_be_on(wire, topic, replicas):
    row = partition(wire, topic)
    on, in_sync = [*row.replica_nodes], {*row.isr_nodes}
    wire.must((on, in_sync) == (replicas, {*replicas}), f"it is on {on}, in sync {in_sync}; it must be on {replicas}")
