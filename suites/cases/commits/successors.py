"""A coordinator that is lost for good: the next one knows every acknowledged commit."""

from brokertrial.faults.kinds.drop_request import drop_request
from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.kinds.pause import pause
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op, message
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import Commits


@case(
    "commits/known-to-the-next-coordinator",
    guarantees=["cmt-002", "cmt-017"],
    needs=["three-nodes", "leaders", "pause", "kill", "restart", "proxy"],
    detects=["M21c", "M21d"],
)
def the_next_coordinator_knows_every_acknowledged_commit():
    """An offset whose commit was acknowledged MUST be the one that the next coordinator returns.

    The other nodes are paused before the coordinator is killed: what it writes meanwhile it has alone, and must not
    acknowledge. No client commits again before the next coordinator has been asked often: a commit hides what was lost.
    The first comes back when the next has commits of its own.
    """
    return Trial(
        workload=Commits(registers=8, askers=4),
        schedule=Windows(
            pause("others(coordinator({group}))", begin=at_op(400), end=after("f2", "begin", delay_ms=300)),
            kill(
                "coordinator({group})", begin=after("f1", "begin", delay_ms=700), end=after("f3", "end", delay_ms=3_000)
            ),
            drop_request(
                api="OffsetCommit",
                begin=after("f2", "begin"),
                end=message(100, api="OffsetFetch", node="coordinator({group})"),
            ),
        ),
        longest_s=60.0,
    )
