"""Coordinators on the smaller side of a partition: of commits, of groups, of transactions."""

from brokertrial.faults.kinds.bridge import bridge
from brokertrial.faults.kinds.isolate import isolate
from brokertrial.faults.kinds.one_way import one_way
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import Commits, Copies, GroupChurn, Pipeline, Transactions

NEEDS = ["three-nodes", "leaders", "network", "proxy"]
END = after("f1", "begin", delay_ms=7_000)


FEW = 2
"""Transactions that end while a cut is at work, or soon after, at the least: those under way wait for its end."""


def disturbed(workload, fault, **more):
    """The workload and one fault of seven seconds."""
    return Trial(workload=workload, schedule=Windows(fault), at_least_s=10.0, longest_s=70.0, **more)


@case(
    "partition/isolated-group-coordinator",
    guarantees=["cmt-002", "cmt-017"],
    needs=NEEDS,
    apis={"OffsetCommit": 2},
    detects=["M21d"],
)
def a_commit_survives_the_isolation_of_its_coordinator():
    """An offset whose commit was acknowledged MUST be the one that OffsetFetch returns although its coordinator was cut
    off from all other nodes.

    Clients still reach it: what no other replica has, it must neither acknowledge nor return.
    """
    workload = Commits(registers=6)
    return disturbed(workload, isolate("coordinator({group})", begin=at_op(400), end=END))


@case(
    "partition/unheard-group-coordinator",
    guarantees=["cmt-002", "cmt-004", "cmt-017"],
    needs=NEEDS,
    apis={"OffsetCommit": 2},
    detects=["M21d", "B01"],
)
def a_commit_survives_a_coordinator_that_no_node_hears():
    """An offset whose commit was acknowledged MUST be the one that OffsetFetch returns although nothing that its
    coordinator sent reached another node.
    """
    workload = Commits(registers=6)
    return disturbed(workload, one_way("coordinator({group})", "outgoing", begin=at_op(400), end=END))


@case(
    "partition/classic-group",
    guarantees=["grp-001", "cmt-005"],
    needs=NEEDS,
    apis={"JoinGroup": 0},
    detects=["M06"],
)
def a_group_finds_its_place_again_after_a_partition():
    """A group whose coordinator is cut off from the other nodes MUST be given every acknowledged record, in order."""
    workload = GroupChurn(members=3, partitions=6, stay_s=4)
    return disturbed(workload, isolate("coordinator({group})", begin=at_op(500), end=END))


@case(
    "partition/consumer-group",
    guarantees=["grp-001", "cmt-005"],
    needs=NEEDS,
    apis={"ConsumerGroupHeartbeat": 0},
    features={"group.version": 1},
    detects=["M06"],
)
def a_group_of_the_new_protocol_finds_its_place_again():
    """A KIP-848 group whose coordinator is cut off from the other nodes MUST be given every acknowledged record."""
    workload = GroupChurn(members=3, partitions=6, stay_s=4, protocol="consumer")
    return disturbed(workload, isolate("coordinator({group})", begin=at_op(500), end=END))


@case(
    "partition/isolated-transaction-coordinator",
    guarantees=["txn-001", "txn-002", "txn-011"],
    needs=NEEDS,
    detects=["M15b"],
)
def transactions_stay_whole_though_their_coordinator_is_isolated():
    """Transactions MUST stay whole for read_committed readers although their coordinator is cut off from all other
    nodes: what it decides alone is no decision.
    """
    fault = isolate("transaction_coordinator({transactional_id})", begin=at_op(300), end=END)
    return disturbed(Transactions(producers=3, partitions=3), fault, observations=FEW)


@case(
    "partition/transactions-and-an-isolated-leader",
    guarantees=["txn-001", "txn-002", "txn-011"],
    needs=NEEDS,
    detects=["M15b"],
)
def transactions_stay_whole_though_a_leader_is_isolated():
    """Transactions over several partitions MUST stay whole for read_committed readers although the leader of one is cut
    off: its part of a decision reaches the next leader.
    """
    fault = isolate("leader({topic},0)", begin=at_op(300), end=END)
    return disturbed(Transactions(producers=3, partitions=3), fault, observations=FEW)


@case(
    "partition/copies-over-a-bridge",
    guarantees=["txn-013", "txn-012"],
    needs=NEEDS,
    apis={"TxnOffsetCommit": 3},
    detects=["M19a"],
)
def each_input_is_copied_once_over_a_bridge():
    """Inputs that are consumed, copied and committed in transactions MUST be in the output exactly once although one
    node alone sees both others.
    """
    fault = bridge("transaction_coordinator({transactional_id})", begin=at_op(500), end=END)
    return disturbed(Copies(copiers=2, partitions=3), fault, observations=FEW)


@case(
    "partition/pipeline",
    guarantees=["cmt-005", "prod-002"],
    needs=NEEDS,
    apis={"JoinGroup": 0},
    detects=["M06"],
)
def a_pipeline_loses_nothing_to_a_partition():
    """Of every input that a group has committed after its copy was acknowledged a copy MUST be in the output although
    the group's coordinator was cut off.
    """
    fault = isolate("coordinator({group})", begin=at_op(800), end=END)
    return disturbed(Pipeline(members=3, partitions=4), fault)
