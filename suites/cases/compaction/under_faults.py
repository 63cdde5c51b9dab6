"""A compacted topic whose leader dies: kept records keep their offsets, the latest of every key first of all."""

from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import ONE_AT_A_TIME, SendAndRead

SEGMENTS = (("segment.ms", "1000"), ("segment.jitter.ms", "0"))
COMPACTED = (
    *SEGMENTS,
    ("cleanup.policy", "compact"),
    ("min.cleanable.dirty.ratio", "0.001"),
    ("min.compaction.lag.ms", "2000"),
)


@case(
    "compaction/survives-a-kill",
    guarantees=["comp-001", "comp-002", "comp-004"],
    needs=["kill", "restart", "topic-settings", "compaction"],
    detects=["M36a", "M36b"],
)
def the_latest_of_every_key_survives_a_kill():
    """The newest record of each key MUST stay, at its offset, and none go before min.compaction.lag.ms, though a leader
    is killed while its logs are cleaned.

    Each key is written again and again; segments of a second and a lag of two have most of the log cleaned meanwhile.
    """
    return Trial(
        workload=SendAndRead(
            producers=3, partitions=2, readers_=2, configs=COMPACTED, rate=150.0, in_flight=ONE_AT_A_TIME
        ),
        schedule=Windows(kill("leader({topic},0)", begin=at_op(1_500), end=after("f1", "begin", delay_ms=500))),
        length=5_000,
        longest_s=60.0,
        settings=(("log.cleaner.backoff.ms", 5_000),),
    )
