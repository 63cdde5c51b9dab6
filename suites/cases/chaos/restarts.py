"""Brokers that die and come back: what was acknowledged is still there."""

from faults.kinds import kill, restart
from faults.schedule import Windows
from faults.triggers import after, at_op
from suites.case import case
from suites.trial import Trial
from suites.workloads import Commits, SendAndRead


@case("produce/acked-survive-a-kill", guarantees=["prod-002", "ord-005", "ord-006"], needs=["kill", "restart"], smoke=True)
def what_was_acknowledged_survives_a_kill():
    """A record acknowledged by all in-sync replicas MUST still be there, at its offset, after the leader was killed."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(kill("leader({topic},0)", begin=at_op(600), end=after("w1", "begin", delay_ms=800))),
    )


@case("commits/survive-a-coordinator-restart", guarantees=["cmt-002", "cmt-017"], needs=["kill", "restart"], smoke=True)
def an_acknowledged_commit_survives_its_coordinator():
    """An offset that was committed MUST be the one that a group is told, whatever happens to the coordinator."""
    return Trial(
        workload=Commits(registers=4),
        schedule=Windows(restart("coordinator({group})", begin=at_op(400))),
    )
