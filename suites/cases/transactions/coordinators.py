"""Coordinators and leaders of transactions that die, freeze or answer in vain."""

from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.kinds.duplicate_request import duplicate_request
from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.kinds.pause import pause
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import Transactions


@case(
    "transactions/lost-end-answers",
    guarantees=["txn-001", "txn-002", "txn-004"],
    needs=["proxy"],
    smoke=True,
    detects=["M15b", "M17", "M18a"],
)
def a_transaction_is_whole_whatever_answers_get_lost():
    """Records of a transaction MUST be seen by read_committed readers after its commit, never before or when aborted.

    The answers to EndTxn and to Produce are lost now and then, so that the client asks again without knowing.
    """
    return Trial(
        workload=Transactions(producers=3, partitions=3),
        schedule=Windows(
            drop_response(api="EndTxn", every=4, times=15),
            drop_response(api="Produce", every=20, times=10),
        ),
    )


@case("transactions/doubled-end", guarantees=["txn-010", "txn-001"], needs=["proxy"], detects=["M15b"])
def an_end_that_arrives_twice_ends_one_transaction():
    """An EndTxn that arrives twice MUST end one transaction, with one outcome, and disturb none after it."""
    return Trial(
        workload=Transactions(producers=3, partitions=3),
        schedule=Windows(duplicate_request(api="EndTxn", every=3, times=20)),
    )


@case(
    "transactions/coordinator-killed",
    guarantees=["txn-011", "txn-001", "txn-021"],
    needs=["kill", "restart"],
    detects=["M15b"],
)
def a_transaction_outlives_its_coordinator():
    """A commit that was acknowledged MUST reach every partition although the coordinator was killed; an abort none."""
    return Trial(
        workload=Transactions(producers=3, partitions=3),
        schedule=Windows(
            kill(
                "transaction_coordinator({transactional_id})", begin=at_op(300), end=after("f1", "begin", delay_ms=1000)
            ),
        ),
        longest_s=60.0,
    )


@case(
    "transactions/leader-killed",
    guarantees=["txn-001", "txn-002", "txn-011"],
    needs=["kill", "restart"],
    detects=["M15b"],
)
def transactions_stay_whole_when_a_leader_dies():
    """Transactions over several partitions MUST stay whole for read_committed readers when a leader is killed."""
    return Trial(
        workload=Transactions(producers=3, partitions=3),
        schedule=Windows(kill("leader({topic},0)", begin=at_op(300), end=after("f1", "begin", delay_ms=1000))),
        longest_s=60.0,
    )


@case("transactions/frozen-coordinator", guarantees=["txn-001", "txn-002"], needs=["pause"], detects=["M15b"])
def transactions_stay_whole_when_the_coordinator_freezes():
    """Transactions MUST stay whole when their coordinator is paused for seconds and then acts on its old state."""
    return Trial(
        workload=Transactions(producers=3, partitions=3),
        schedule=Windows(
            pause(
                "transaction_coordinator({transactional_id})", begin=at_op(300), end=after("f1", "begin", delay_ms=3000)
            ),
        ),
        longest_s=60.0,
    )
