"""Clients cut off from a broker, in one direction or both."""

from brokertrial.faults.kinds import cut
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import GroupChurn, SendAndRead
from brokertrial.suites.workloads.group_churn import SESSION_S


@case("idempotence/deaf-producer", guarantees=["idem-006", "idem-002"], needs=["proxy"], detects=["M09"])
def a_producer_that_is_heard_and_hears_nothing_writes_once():
    """A producer whose requests arrive while no answer comes back MUST find each record once, and in order."""
    return Trial(
        workload=SendAndRead(producers=3, idempotent=True, partitions=3),
        schedule=Windows(
            cut(
                client="*w*",
                node="leader({topic},0)",
                direction="answers",
                begin=at_op(300),
                end=after("w1", "begin", delay_ms=5000),  # after half of it the clients give up their connections
            ),
        ),
    )


@case("fetch/cut-reader", guarantees=["ord-007", "fetch-015"], needs=["proxy"], detects=["M06"])
def a_reader_cut_off_goes_on_where_it_was():
    """A reader that is cut off from a leader and comes back MUST go on where it was, without skips or repeats."""
    return Trial(
        workload=SendAndRead(producers=3, idempotent=True, partitions=3, readers_=3),
        schedule=Windows(
            cut(client="*r*", node="leader({topic},0)", begin=at_op(300), end=after("w1", "begin", delay_ms=2500)),
        ),
    )


@case(
    "groups/member-cut-off",
    guarantees=["grp-011", "grp-001", "cmt-005"],
    needs=["proxy"],
    apis={"JoinGroup": 0},
    detects=["M06", "M26"],
)
def the_partitions_of_a_member_cut_off_are_taken_over():
    """Partitions of a member that is cut off MUST go to another within two session timeouts, and the group MUST still
    be given every record.

    The other members stay, so that no rebalance but the one that the cut calls for hands anything over.
    """
    return Trial(
        workload=GroupChurn(members=3, partitions=6, stay_s=60),
        schedule=Windows(cut(client="*m1*", begin=at_op(700), end=after("w1", "begin", delay_ms=13_500))),
        session_s=SESSION_S,
        observations=2,  # the hand-over of its two partitions
    )
