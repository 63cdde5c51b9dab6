"""Replicas that were given no record: which offset is next, whatever becomes of them."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
END = 3


@case(
    "replication/offsets-go-on-without-records",
    guarantees=["ord-006", "adm-014", "adm-011"],
    needs=["three-nodes", "leaders", "topic-settings", "kill", "terminate", "restart"],
    apis={"DeleteRecords": 0, "AlterPartitionReassignments": 0},
    detects=["D61"],
)
def offsets_go_on_where_no_record_is_left(wire, nodes, rng):
    """Where every record of a partition was deleted, the partition was moved to another node, and that node was stopped
    or killed and started again, the log MUST still begin and end behind the deleted records, and the next record MUST
    be given the offset behind them, never one that was given before.

    The new node was never given a record, so that nothing but the start of the log says what its end is.
    """
    here, stopped, killed = rng.sample(list(wire.nodes), 3)
    topics = {placed(wire, what, [here], **ALONE): node for what, node in (("stopped", stopped), ("killed", killed))}
    for topic in topics:
        wire.produce(topic, batch(*(f"{n}" for n in range(END)))).must_be_at(0)
        wire.delete_records(topic, offset=END).must_succeed()
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "replicas": [to]}]} for topic, to in topics.items()]
    asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows)
    wire.ask(asked, to=wire.controller).must_succeed()
    for topic, node in topics.items():
        _await_moved(wire, topic, node)
        _must_be_empty(wire, topic)

    nodes.stop_and_start(stopped)
    nodes.crash(killed)
    for topic, node in topics.items():
        _await_moved(wire, topic, node)
        _must_be_empty(wire, topic)
        wire.produce(topic, batch("next")).must_be_at(END)
        wire.read_all(topic, offset=END).must_hold("next")


def _await_moved(wire, topic, node):
    def is_there():
        row = partition(wire, topic)
        return row.replica_nodes == [node] and row.isr_nodes == [node] and row.leader_id == node

    wire.until(is_there, within=WITHIN_S, what=f"{topic} is held and led by {node} alone")
    wire.await_topic(topic)


def _must_be_empty(wire, topic):
    wire.eventually(lambda: wire.list_offsets(topic, at="earliest").must_name(offset=END), within=WITHIN_S)
    wire.list_offsets(topic).must_name(offset=END)
