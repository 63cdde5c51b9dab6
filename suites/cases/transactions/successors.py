"""A coordinator that is lost for good: the next one ends what was begun."""

from brokertrial.faults.kinds.drop_request import drop_request
from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op, message
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import Transactions


@case(
    "transactions/known-to-the-next-coordinator",
    guarantees=["txn-001", "txn-002", "txn-011"],
    needs=["three-nodes", "leaders", "kill", "restart", "proxy"],
    detects=["M16b", "M18e"],
)
def the_next_coordinator_ends_what_was_begun():
    """A transaction MUST be whole for read_committed readers though another node coordinates it, and another leads one
    of its partitions, from its middle on.

    The end of a transaction is lost, and its coordinator is killed: the transaction is open, and the next coordinator
    is asked to end it. The first comes back when the next has ended others, and has time to lead again.
    """
    return Trial(
        workload=Transactions(producers=3, partitions=3),
        schedule=Windows(
            drop_request(
                api="EndTxn", transactional_id="{transactional_id}", begin=at_op(300), end=after("f2", "begin")
            ),
            kill(
                "transaction_coordinator({transactional_id})",
                begin=after("f1", "hit"),
                end=message(15, api="EndTxn", transactional_id="{transactional_id}"),
            ),
        ),
        longest_s=60.0,
    )
