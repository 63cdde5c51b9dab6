"""What was committed under a leader that is lost, and what a reader gets of it when no producer writes any more."""

from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import all_of, at_op, elapsed
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import WriteThenRead


@case(
    "replication/readable-without-new-records",
    guarantees=["repl-011", "fetch-010"],
    needs=["three-nodes", "leaders", "kill", "restart"],
    detects=["M33b"],
)
def a_new_leader_gives_out_what_was_committed_before():
    """After a fail-over a reader MUST be given every acknowledged record, though no record is written any more.

    The leader dies when nothing was written for so long that its followers know what is committed.
    """
    return Trial(
        workload=WriteThenRead(records=600, late_at=1_600),
        schedule=Windows(kill("leader({topic},0)", begin=all_of(at_op(1_000), elapsed(2_000)))),
        length=600,
        during_faults=0,
        checks=("log-recency",),
        at_least_s=15.0,
        longest_s=60.0,
    )
