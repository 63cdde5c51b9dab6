"""Consume, transform, produce while coordinators and leaders fail: every input in the output exactly once."""

from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.kinds.pause import pause
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import Copies

TRANSACTIONS = 2
"""That commit while the fault is at work, at the least: each copies all that a poll brought, and takes its time."""


@case(
    "transactions/copies-outlive-their-coordinator",
    guarantees=["txn-013", "txn-012"],
    needs=["kill", "restart"],
    apis={"TxnOffsetCommit": 3},
    detects=["M19a"],
)
def each_input_is_copied_once_though_the_coordinator_dies():
    """Inputs that are consumed, copied and committed in transactions MUST be in the output exactly once.

    The coordinator of the transactions is killed meanwhile; on a cluster the group's may be another one.
    """
    return Trial(
        workload=Copies(copiers=2, partitions=3),
        schedule=Windows(
            kill(
                "transaction_coordinator({transactional_id})", begin=at_op(500), end=after("f1", "begin", delay_ms=1000)
            ),
        ),
        observations=TRANSACTIONS,
        longest_s=60.0,
    )


@case(
    "transactions/copies-outlive-a-frozen-leader",
    guarantees=["txn-013", "txn-001"],
    needs=["pause"],
    apis={"TxnOffsetCommit": 3},
    detects=["M19a"],
)
def each_input_is_copied_once_though_a_leader_freezes():
    """Inputs that are consumed, copied and committed in transactions MUST be in the output exactly once.

    The leader of an output partition is paused meanwhile, and resumes with what it had not yet written.
    """
    return Trial(
        workload=Copies(copiers=2, partitions=3),
        schedule=Windows(pause("leader({output},0)", begin=at_op(500), end=after("f1", "begin", delay_ms=3000))),
        observations=TRANSACTIONS,
        longest_s=60.0,
    )


@case(
    "transactions/copies-with-lost-answers",
    guarantees=["txn-013", "txn-014"],
    needs=["proxy"],
    apis={"TxnOffsetCommit": 3},
    detects=["M19a"],
)
def each_input_is_copied_once_though_answers_get_lost():
    """Offsets sent in a transaction MUST come into force with its commit, never before and never when it aborts.

    The answers to EndTxn and TxnOffsetCommit are lost now and then.
    """
    return Trial(
        workload=Copies(copiers=2, partitions=3),
        schedule=Windows(
            drop_response(api="TxnOffsetCommit", every=6, times=10),
            drop_response(api="EndTxn", every=7, times=10),
        ),
        observations=TRANSACTIONS,
    )
