"""Coordinators of groups and transactions that die or fall silent."""

from brokertrial.faults.kinds import drop_response, duplicate_request, kill, pause
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import Commits, GroupChurn, Transactions


@case(
    "commits/survive-a-coordinator-restart",
    guarantees=["cmt-002", "cmt-017"],
    needs=["kill", "restart"],
    smoke=True,
    detects=["M21", "M22"],
)
def an_acknowledged_commit_survives_its_coordinator():
    """An offset that was committed MUST be the one that a group is told, whatever happens to the coordinator."""
    return Trial(
        workload=Commits(registers=4),
        schedule=Windows(kill("coordinator({group})", begin=at_op(400), end=after("w1", "begin", delay_ms=600))),
    )


@case("commits/frozen-coordinator", guarantees=["cmt-002", "cmt-004", "cmt-017"], needs=["pause"], detects=["M28b"])
def a_frozen_coordinator_tells_no_old_offset():
    """A coordinator that freezes and wakes up MUST NOT tell an offset that a later commit has replaced."""
    return Trial(
        workload=Commits(registers=4),
        schedule=Windows(pause("coordinator({group})", begin=at_op(300), end=after("w1", "begin", delay_ms=4000))),
        longest_s=60.0,
    )


@case(
    "groups/churn-delivers-everything",
    guarantees=["grp-001", "cmt-005"],
    needs=["proxy"],
    apis={"JoinGroup": 0},
    smoke=True,
    detects=["M06"],
)
def a_group_misses_nothing_while_members_come_and_go():
    """While members join and leave, the group MUST be given every acknowledged record, in each partition's order."""
    return Trial(
        workload=GroupChurn(members=4, partitions=6, stay_s=0.8),
        schedule=Windows(drop_response(api="Heartbeat", every=3, times=8)),
    )


@case(
    "groups/coordinator-killed",
    guarantees=["grp-016", "grp-001", "cmt-005"],
    needs=["kill", "restart"],
    apis={"JoinGroup": 0},
    detects=["M06"],
)
def a_group_outlives_its_coordinator():
    """After the coordinator was killed the group MUST find its place again and be given every acknowledged record.

    Members go on coming and going for a while after it is back: a broker that starts in seconds would else see the end
    of the trial before the group has come together again.
    """
    return Trial(
        workload=GroupChurn(members=4, partitions=12, stay_s=0.8),
        schedule=Windows(kill("coordinator({group})", begin=at_op(500), end=after("w1", "begin", delay_ms=1000))),
        at_least_s=25.0,
        longest_s=60.0,
    )


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
                "transaction_coordinator({transactional_id})", begin=at_op(300), end=after("w1", "begin", delay_ms=1000)
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
        schedule=Windows(kill("leader({topic},0)", begin=at_op(300), end=after("w1", "begin", delay_ms=1000))),
        longest_s=60.0,
    )


@case("transactions/frozen-coordinator", guarantees=["txn-001", "txn-002"], needs=["pause"], detects=["M15b"])
def transactions_stay_whole_when_the_coordinator_freezes():
    """Transactions MUST stay whole when their coordinator freezes for seconds and then acts on what it knew before."""
    return Trial(
        workload=Transactions(producers=3, partitions=3),
        schedule=Windows(
            pause(
                "transaction_coordinator({transactional_id})", begin=at_op(300), end=after("w1", "begin", delay_ms=3000)
            ),
        ),
        longest_s=60.0,
    )
