"""One node on one side of a partition, all others on the other: what the lonely one leads, it must not decide alone."""

from brokertrial.faults.kinds.isolate import isolate
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import ONE_AT_A_TIME, SendAndRead


@case(
    "partition/isolated-leader",
    guarantees=["repl-001", "repl-010", "prod-002"],
    needs=["three-nodes", "leaders", "network", "proxy"],
    detects=["M34b"],
)
def an_isolated_leader_acknowledges_nothing_alone():
    """What is acknowledged with acks=all MUST survive although the leader is cut off from all other nodes.

    Clients still reach it: it takes their records, and must not acknowledge what no other replica has. The others
    elect a leader meanwhile; after the heal the former one must give up what it has alone.
    """
    return Trial(
        workload=SendAndRead(producers=6, partitions=3, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            isolate("leader({topic},0)", begin=at_op(600), end=after("f1", "begin", delay_ms=6_000)),
        ),
        at_least_s=10.0,
        longest_s=60.0,
    )
