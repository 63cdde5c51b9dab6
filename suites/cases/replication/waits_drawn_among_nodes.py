"""Requests that wait at a leader or a follower while drawn things happen to their partitions and their nodes."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, REPLICATED_S
from brokertrial.suites.cases.replication._waits_round import WaitsRound
from brokertrial.suites.probe.apart import apart

APIS = {
    "CreateTopics": 5,
    "CreatePartitions": 0,
    "DeleteTopics": 1,
    "IncrementalAlterConfigs": 0,
    "ElectLeaders": 1,
    "AlterPartitionReassignments": 0,
    "DeleteRecords": 0,
    "Fetch": 11,
    "InitProducerId": 0,
}


@case(
    "replication/waits-whatever-happens-among-nodes",
    guarantees=["prod-009", "prod-010", "repl-004", "repl-010", "repl-018", "fetch-008", "adm-011", "idem-008"],
    needs=[*NEEDS, "partitions", "kill", "terminate", "restart"],
    apis=APIS,
    detects=["B14", "B106", "B170", "B171", "B172"],
)
def whoever_waits_is_answered_in_time_and_truly(wire, nodes, rng):
    """Produce with acks=all, Fetch and DeleteRecords that wait MUST be answered within their time, once and in the
    order of their connection, and at once when what they wait for has come about or cannot any more. What is
    acknowledged MUST be on every replica in sync then and in the log for good; each partition that is refused MUST be
    so for what happened to it, as if it were asked alone, and what is sent again MUST be there once.

    One node replicates nothing for a while. Requests of drawn versions wait at each node, for one partition and for
    several, others behind them in the pipeline. Partitions are led by another, taken from their leader, deleted, made
    again, added and set otherwise; a leader may die or stop. Then replicas are left out, and return.
    """
    one = WaitsRound(wire, nodes, rng)
    with apart(nodes, one.cut_node, "brokers"):
        one.begins_to_wait()
        wire.rest(REPLICATED_S)
        one.looks()
        one.drawn_events(kills=rng.random() < 0.5)
        one.leaves_out_who_lacks()
    one.comes_together()
    one.must_be_whole()
