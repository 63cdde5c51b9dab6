"""Some nodes on one side of a partition, all others on the other: what the smaller side leads, it must not decide."""

from brokertrial.faults.kinds.cut_replication import cut_replication
from brokertrial.faults.kinds.flap import flap
from brokertrial.faults.kinds.isolate import isolate
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import ONE_AT_A_TIME, SendAndRead

NEEDS = ["three-nodes", "leaders", "network", "proxy"]
FOR_S = 7.0
"""Longer than a session of a broker and one request to the controller: the others have elected a leader by then."""
PATIENT_CLIENT_MS = 7_000
"""A client that hangs up sooner does not hear what an isolated leader on a busy machine answers."""


@case(
    "partition/isolated-leader",
    guarantees=["repl-001", "repl-010", "prod-002"],
    needs=NEEDS,
    detects=["M34b", "M32a", "B01", "B06", "B09"],
)
def an_isolated_leader_acknowledges_nothing_alone():
    """What is acknowledged with acks=all MUST survive although the leader is cut off from all other nodes.

    Clients still reach it: it takes their records, and must not acknowledge what no other replica has. The others
    elect a leader meanwhile; after the heal the former one must give up what it has alone.
    """
    return Trial(
        workload=SendAndRead(producers=6, partitions=3, in_flight=ONE_AT_A_TIME, answer_within_ms=PATIENT_CLIENT_MS),
        schedule=Windows(
            isolate("leader({topic},0)", begin=at_op(600), end=after("f1", "begin", delay_ms=FOR_S * 1_000)),
        ),
        at_least_s=FOR_S + 3,
        longest_s=60.0,
    )


@case(
    "partition/leader-on-the-wrong-side",
    guarantees=["repl-001", "repl-010", "prod-002"],
    needs=NEEDS,
    detects=["B04", "B07"],
)
def a_leader_that_kept_a_follower_does_not_go_on_without_the_other():
    """What is acknowledged with acks=all MUST survive although a leader and one of its followers are cut off from the
    other follower, and from the controllers.

    The two have as many replicas as acks=all needs, and may not remove the third from the in-sync set by themselves.
    Where brokers are controllers too, the two are the quorum, and may remove it.
    """
    return Trial(
        workload=SendAndRead(producers=6, partitions=3, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            isolate(
                "others(follower({topic},0))",
                begin=at_op(600),
                end=after("f1", "begin", delay_ms=FOR_S * 1_000),
            ),
        ),
        at_least_s=FOR_S + 3,
        longest_s=60.0,
    )


@case(
    "partition/left-out-then-leader-lost",
    guarantees=["repl-001", "prod-002"],
    needs=NEEDS,
    detects=["B08"],
)
def who_was_left_out_does_not_lead():
    """What was acknowledged while a follower was cut off MUST be there when the leader is isolated, whichever replica
    is elected.

    The follower that is next in line is alive for all nodes but gets no record; it is out of the in-sync set by the
    time that the leader is gone.
    """
    return Trial(
        workload=SendAndRead(producers=4, partitions=1, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            cut_replication("follower({topic},0)", begin=at_op(500), end=after("f2", "begin", delay_ms=6_500)),
            isolate(
                "leader({topic},0)",
                begin=after("f1", "begin", delay_ms=6_000),
                end=after("f2", "begin", delay_ms=FOR_S * 1_000),
            ),
        ),
        at_least_s=16.0,
        longest_s=60.0,
    )


@case(
    "partition/caught-up-then-leader-lost",
    guarantees=["repl-001", "prod-002", "ord-005"],
    needs=NEEDS,
    detects=["B10"],
)
def who_has_caught_up_has_everything():
    """What was acknowledged while a follower was cut off MUST be there when that follower has caught up, and leads."""
    return Trial(
        workload=SendAndRead(producers=4, partitions=1, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            cut_replication("follower({topic},0)", begin=at_op(500), end=after("f1", "begin", delay_ms=5_000)),
            isolate(
                "leader({topic},0)",
                begin=after("f1", "end", delay_ms=5_000),
                end=after("f2", "begin", delay_ms=FOR_S * 1_000),
            ),
        ),
        at_least_s=19.0,
        longest_s=60.0,
    )


@case(
    "partition/first-replica-left-behind",
    guarantees=["repl-001", "prod-002"],
    needs=NEEDS,
    detects=["B03"],
)
def leadership_is_given_back_to_no_replica_that_lags():
    """A preferred replica MUST NOT lead again before it has what was acknowledged without it.

    The first replica, which leads, is isolated; when the others have a leader, all nodes hear it again and it still
    gets no record, for longer than it takes until leaderships are rebalanced automatically.
    """
    return Trial(
        workload=SendAndRead(producers=4, partitions=1, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            isolate("leader({topic},0)", begin=at_op(500), end=after("f1", "begin", delay_ms=FOR_S * 1_000)),
            cut_replication(
                "follower({topic},0)",
                begin=after("f1", "begin", delay_ms=FOR_S * 1_000 - 300),
                end=after("f2", "begin", delay_ms=9_000),
            ),
        ),
        at_least_s=19.0,
        longest_s=70.0,
    )


@case(
    "partition/flapping-leader",
    guarantees=["repl-001", "ord-003", "prod-002"],
    needs=NEEDS,
    detects=["M34b", "B09"],
)
def a_leader_that_comes_and_goes_loses_nothing():
    """Nothing that was acknowledged MUST be lost or reordered while the leader is cut off and comes back again and
    again.
    """
    return Trial(
        workload=SendAndRead(producers=6, partitions=3, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            flap(
                "leader({topic},0)",
                on_ms=5_000,
                off_ms=1_500,
                begin=at_op(600),
                end=after("f1", "begin", delay_ms=18_000),
            ),
        ),
        at_least_s=20.0,
        longest_s=70.0,
    )
