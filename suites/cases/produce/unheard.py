"""Producers cut off just when one of their batches was stored and its answer has not arrived."""

from brokertrial.faults.kinds.cut import cut
from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import SendAndRead


def leader(partition):
    return f"leader({{topic}},{partition})"


@case("produce/cut-from-the-leader", guarantees=["ord-002", "idem-006"], needs=["proxy"], detects=["M09"])
def a_producer_cut_from_the_leader_loses_nothing_acknowledged():
    """A producer cut off from a leader for a while MUST find all that was acknowledged, once and in order.

    Each cut begins with an answer that is lost: the batches that it acknowledged are stored, and sent again.
    """
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(
            drop_response(
                api="Produce", client="*producer-1*", node=leader(0), begin=at_op(300), end=after("f2", "begin")
            ),
            cut(
                client="*producer-1*", node=leader(0), begin=after("f1", "hit"), end=after("f2", "begin", delay_ms=3000)
            ),
            drop_response(
                api="Produce", client="*producer-2*", node=leader(0), begin=at_op(900), end=after("f4", "begin")
            ),
            cut(
                client="*producer-2*", node=leader(0), begin=after("f3", "hit"), end=after("f4", "begin", delay_ms=3000)
            ),
        ),
    )


@case("produce/connections-reset", guarantees=["idem-006", "ord-001"], needs=["proxy"], detects=["M09"])
def reset_connections_lose_and_double_nothing():
    """Whenever connections are reset, what was acknowledged MUST be in the log once and in order.

    The first of each series takes an answer with it, so that something stored is sent again.
    """
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(
            drop_response(api="Produce", node=leader(0), begin=at_op(300), end=after("f2", "begin")),
            cut(how="reset", node=leader(0), begin=after("f1", "hit"), end=after("f2", "begin", delay_ms=400)),
            drop_response(api="Produce", node=leader(1), begin=at_op(700), end=after("f4", "begin")),
            cut(how="reset", node=leader(1), begin=after("f3", "hit"), end=after("f4", "begin", delay_ms=400)),
            drop_response(api="Produce", node=leader(2), begin=at_op(1100), end=after("f6", "begin")),
            cut(how="reset", node=leader(2), begin=after("f5", "hit"), end=after("f6", "begin", delay_ms=400)),
        ),
    )
