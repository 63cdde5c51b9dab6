"""Coordinators that answer with an error, or whose answer is lost: a commit is in force or it is not."""

from brokertrial.faults.kinds.error_after import error_after
from brokertrial.faults.kinds.error_instead import error_instead
from brokertrial.faults.schedule import Windows
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import Commits


@case("commits/coordinator-busy", guarantees=["cmt-002", "cmt-017"], needs=["proxy"], detects=["M28b"])
def a_busy_coordinator_changes_no_committed_offset():
    """While commits are refused with COORDINATOR_LOAD_IN_PROGRESS, a committed offset MUST change only by a commit."""
    return Trial(
        workload=Commits(registers=4),
        schedule=Windows(error_instead("COORDINATOR_LOAD_IN_PROGRESS", api="OffsetCommit", every=6, times=20)),
    )


@case("commits/lost-answers", guarantees=["cmt-001", "cmt-017"], needs=["proxy"], detects=["M28b"])
def a_commit_whose_answer_is_lost_is_in_force_or_not():
    """A commit whose answer is lost MUST be in force from some moment on or never, and never replace a later one."""
    return Trial(
        workload=Commits(registers=4),
        schedule=Windows(error_after("REQUEST_TIMED_OUT", api="OffsetCommit", every=7, times=20)),
    )
