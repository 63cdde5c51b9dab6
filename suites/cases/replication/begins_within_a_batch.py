"""Replicas that are added to a partition whose log begins within a batch."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, partition, placed
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}


@case(
    "replication/begins-within-a-batch",
    guarantees=["repl-002", "adm-011", "adm-014"],
    needs=["three-nodes", "leaders", "topic-settings"],
    apis={"DeleteRecords": 0, "AlterPartitionReassignments": 0},
    detects=["Z27"],
)
def a_new_replica_begins_at_the_start_of_the_log(wire, rng):
    """A node to which a partition is reassigned MUST come to be in sync where DeleteRecords has moved the start of the
    log into a batch, or to its end, and once it leads it MUST serve the same records, start and end.

    Three topics: a start within the first batch, within a later one, and at the end of the log.
    """
    here, there, _ = rng.sample(list(wire.nodes), 3)
    starts = {"first": 2, "later": 7, "end": 10}
    topics = {placed(wire, what, [here], **ALONE): start for what, start in starts.items()}
    for topic, start in topics.items():
        for base in (0, 5):
            wire.produce(topic, batch(*(f"{base + n}" for n in range(5)), compression="gzip")).must_be_at(base)
        wire.delete_records(topic, offset=start).must_succeed()
    for replicas in ([here, there], [there]):
        rows = [{"name": topic, "partitions": [{"partition_index": 0, "replicas": replicas}]} for topic in topics]
        asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows)
        wire.ask(asked, to=wire.controller).must_succeed()
        for topic in topics:
            wire.until(
                lambda topic=topic, replicas=replicas: _is_held_by(partition(wire, topic), replicas),
                within=WITHIN_S,
                what=f"{topic} is held by {replicas}, all in sync",
            )
    for topic, start in topics.items():
        wire.await_topic(topic)
        wire.eventually(lambda topic=topic, start=start: _must_hold(wire, topic, start), within=WITHIN_S)
        wire.produce(topic, batch("next")).must_be_at(10)


def _is_held_by(row, replicas):
    return row.replica_nodes == replicas and {*row.isr_nodes} == {*replicas} and row.leader_id in replicas


def _must_hold(wire, topic, start):
    wire.list_offsets(topic, at="earliest").must_name(offset=start)
    wire.list_offsets(topic).must_name(offset=10)
    read = wire.read_all(topic, offset=start, isolation=COMMITTED)
    read.must_hold(*(f"{n}" for n in range(start, 10)))
