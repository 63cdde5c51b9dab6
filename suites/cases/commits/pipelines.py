"""Consume, produce, commit without transactions while members and coordinators fail: at least once."""

from brokertrial.faults.kinds.cut import cut
from brokertrial.faults.kinds.hold import hold
from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import Pipeline


@case(
    "commits/a-pipeline-loses-nothing",
    guarantees=["cmt-005", "grp-024", "prod-002"],
    needs=["kill", "restart", "proxy"],
    apis={"JoinGroup": 0},
    detects=["M02a", "M23"],
)
def what_a_pipeline_committed_is_in_its_output():
    """Of every input that a group has committed after its copy was acknowledged a copy MUST be in the output.

    The coordinator is killed meanwhile, and then a member is cut off for longer than its session lasts: what it had
    not committed is copied again by others, and its last commit, which arrives when the group has gone on without it,
    must be refused.
    """
    return Trial(
        workload=Pipeline(members=3, partitions=4),
        schedule=Windows(
            kill("coordinator({group})", begin=at_op(1_000), end=after("f1", "begin", delay_ms=1_000)),
            hold(
                api="OffsetCommit",
                client="*member-1*",
                times=1,
                begin=after("f1", "end", delay_ms=3_000),
                end=after("f3", "end", delay_ms=300),
            ),
            cut(client="*member-1*", begin=after("f2", "hit", delay_ms=100), end=after("f3", "begin", delay_ms=9_000)),
        ),
        longest_s=60.0,
    )
