"""Transactions while answers get lost: all of a transaction, or nothing of it."""

from faults.kinds import drop_response
from faults.schedule import Windows
from suites.case import case
from suites.trial import Trial
from suites.workloads import Transactions


@case("transactions/lost-end-answers", guarantees=["txn-001", "txn-002", "txn-004"], needs=["proxy"], smoke=True)
def a_transaction_is_whole_whatever_answers_get_lost():
    """Records of a transaction MUST be seen by read_committed readers after its commit, never before, and never if aborted.

    The answers to EndTxn and to Produce are lost now and then, so that the client asks again without knowing.
    """
    return Trial(
        workload=Transactions(producers=3, partitions=3),
        schedule=Windows(
            drop_response(api="EndTxn", every=4, times=15),
            drop_response(api="Produce", every=20, times=10),
        ),
        length=1_000,
    )
