"""Lines between clients and coordinators that break: of commits, transactions, groups."""

from brokertrial.faults.kinds.limit_data import limit_data
from brokertrial.faults.kinds.reset_peer import reset_peer
from brokertrial.faults.kinds.slow_close import slow_close
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import Commits, Copies, GroupChurn, Transactions

NEEDS = ["toxiproxy", "proxy"]
END = after("f1", "begin", delay_ms=5_000)
FEW = 2
"""Transactions that end while a line is broken, at the least."""


@case("lines/commits", guarantees=["cmt-002", "cmt-004"], needs=NEEDS, apis={"OffsetCommit": 2}, detects=["M28b"])
def a_commit_outlives_its_connection():
    """An offset whose commit was acknowledged MUST be the one that OffsetFetch returns, and one that a later commit has
    replaced MUST NOT, although connections to the coordinator are reset again and again.
    """
    reset = reset_peer("coordinator({group})", 150, begin=at_op(400), end=END)
    return Trial(workload=Commits(registers=4), schedule=Windows(reset))


@case("lines/transactions", guarantees=["txn-001", "txn-002"], needs=NEEDS, detects=["M15b", "M17"])
def a_transaction_outlives_the_connections_to_its_coordinator():
    """Transactions MUST be whole for read_committed readers, and aborted ones unseen, although requests to their
    coordinator are cut in the middle.
    """
    cut = limit_data("transaction_coordinator({transactional_id})", 3_000, begin=at_op(300), end=END)
    return Trial(
        workload=Transactions(producers=3, partitions=3), schedule=Windows(cut), observations=FEW, longest_s=60.0
    )


@case("lines/copies", guarantees=["txn-013", "txn-012"], needs=NEEDS, apis={"TxnOffsetCommit": 3}, detects=["M19a"])
def each_input_is_copied_once_over_lines_that_break():
    """Inputs that are consumed, copied and committed in transactions MUST be in the output exactly once, although
    connections to the coordinator of the transactions are reset again and again.
    """
    reset = reset_peer("transaction_coordinator({transactional_id})", 250, begin=at_op(500), end=END)
    return Trial(workload=Copies(copiers=2, partitions=3), schedule=Windows(reset), observations=FEW, longest_s=60.0)


@case("lines/late-ends", guarantees=["grp-001", "cmt-005"], needs=NEEDS, apis={"JoinGroup": 0}, detects=["M06"])
def a_member_whose_end_is_heard_late_costs_nothing():
    """A group MUST be given every record although the coordinator learns late that members and their connections are
    gone.
    """
    late = slow_close("coordinator({group})", 1_500, begin=at_op(500), end=after("f1", "begin", delay_ms=6_000))
    return Trial(workload=GroupChurn(members=3, partitions=6), schedule=Windows(late), longest_s=60.0)
