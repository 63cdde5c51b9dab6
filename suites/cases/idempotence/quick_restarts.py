"""Nodes that crash and are back at once, one after the other, before they have been missed for long."""

from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.kinds.restart import restart
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, all_of, at_op, message
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import ONE_AT_A_TIME, SendAndRead


def node(number):
    return f"{{node{number}}}"


def unheard(number, begin):
    """Answers of a node that get lost from here on, until it is back."""
    return drop_response(
        api="Produce", node=node(number), begin=begin, end=after(f"f{2 * number}", "begin", delay_ms=50)
    )


def bounced(number):
    """The node dies once an answer of it was lost, and comes straight back."""
    return restart(node(number), begin=after(f"f{2 * number - 1}", "hit", delay_ms=150))


def goes_on(number):
    """The node before is back, and this one has had its share of records."""
    return all_of(after(f"f{2 * number - 2}", "begin", delay_ms=2_000), message(200, api="Produce", node=node(number)))


@case(
    "idempotence/known-after-quick-restarts",
    guarantees=["idem-007", "idem-008", "repl-012"],
    needs=["three-nodes", "leaders", "kill", "restart", "proxy"],
    detects=["M11b"],
)
def a_retry_is_recognised_though_every_node_restarts():
    """While every node in turn crashes and restarts at once, a batch that is sent again MUST be written once.

    What each node stores just before it dies is not answered, and is sent again to the next leader.
    """
    return Trial(
        workload=SendAndRead(producers=4, partitions=6, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            unheard(1, at_op(400)),
            bounced(1),
            unheard(2, goes_on(2)),
            bounced(2),
            unheard(3, goes_on(3)),
            bounced(3),
        ),
        longest_s=75.0,
    )
