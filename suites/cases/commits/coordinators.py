"""Coordinators of groups that die or freeze: committed offsets outlive them."""

from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.kinds.pause import pause
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import Commits


@case(
    "commits/survive-a-coordinator-restart",
    guarantees=["cmt-002", "cmt-017"],
    needs=["kill", "restart"],
    smoke=True,
    detects=["M21", "M22"],
)
def an_acknowledged_commit_survives_its_coordinator():
    """An offset that was committed MUST be the one that OffsetFetch returns to its group, whatever happens to the
    coordinator.
    """
    return Trial(
        workload=Commits(registers=4),
        schedule=Windows(kill("coordinator({group})", begin=at_op(400), end=after("f1", "begin", delay_ms=600))),
    )


@case("commits/frozen-coordinator", guarantees=["cmt-002", "cmt-004", "cmt-017"], needs=["pause"], detects=["M28b"])
def a_frozen_coordinator_returns_no_old_offset():
    """A coordinator that is paused and resumes MUST NOT return an offset that a later commit has replaced."""
    return Trial(
        workload=Commits(registers=4),
        schedule=Windows(pause("coordinator({group})", begin=at_op(300), end=after("f1", "begin", delay_ms=4000))),
        longest_s=60.0,
    )
