"""Messages that get lost, doubled or late between producers and brokers: the log must not show it."""

from brokertrial.faults.kinds import delay, drop_request, drop_response, duplicate_request, hold
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import SendAndRead


@case(
    "idempotence/lost-ack",
    guarantees=["idem-006", "idem-002", "ord-003"],
    needs=["proxy"],
    smoke=True,
    detects=["M09"],
)
def a_retry_after_a_lost_ack_is_written_once():
    """A batch sent again because its answer was lost MUST be in the log exactly once, and in the order of sending."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(drop_response(api="Produce", every=7, times=20)),
    )


@case("idempotence/lost-request", guarantees=["idem-006", "ord-002"], needs=["proxy"], detects=["M05"])
def a_request_that_never_arrived_leaves_no_gap():
    """When a Produce is lost on its way and sent again, every acknowledged record MUST be in the log, in order."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(drop_request(api="Produce", every=9, times=15)),
    )


@case("idempotence/doubled-request", guarantees=["idem-002", "idem-006"], needs=["proxy"], detects=["M09"])
def a_request_that_arrives_twice_is_written_once():
    """A Produce of an idempotent producer that arrives twice MUST be in the log once."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(duplicate_request(api="Produce", every=5, times=60)),
    )


@case("idempotence/late-request", guarantees=["idem-006", "idem-003"], needs=["proxy"], detects=["M12"])
def a_request_that_arrives_late_is_not_written_again():
    """A Produce that arrives long after the client has sent it again MUST NOT be in the log a second time."""
    return Trial(
        workload=SendAndRead(producers=3, idempotent=True, partitions=2),
        schedule=Windows(
            hold(api="Produce", client="w1", skip=40, times=1, end=after("w1", "hit", delay_ms=4500)),
            hold(api="Produce", client="w2", skip=60, times=1, end=after("w2", "hit", delay_ms=4500)),
        ),
    )


@case("ordering/slow-answers", guarantees=["ord-001", "ord-003", "ord-007"], needs=["proxy"], detects=["M06"])
def slow_answers_change_no_order():
    """However slowly answers come, readers MUST see each partition in one order, without skips or repeats."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(
            delay(60, jitter_ms=80, api="Produce", begin=at_op(200)),
            delay(40, jitter_ms=60, api="Fetch", begin=at_op(200)),
        ),
    )


@case(
    "ordering/pipelined-sends", guarantees=["ord-002", "ord-003"], needs=["proxy"], smoke=True, detects=["M05", "M01a"]
)
def pipelined_sends_are_appended_in_the_order_sent():
    """Pipelined Produce requests on one connection MUST be appended in the order sent, also without idempotence.

    Nothing is lost and nobody sends twice: whatever order the log shows is the broker's doing.
    """
    return Trial(
        workload=SendAndRead(producers=4, idempotent=False, retries=0, partitions=2, rate=400.0),
        schedule=Windows(delay(15, api="Produce")),
    )


@case("fetch/lost-answers", guarantees=["ord-007", "fetch-015"], needs=["proxy"], detects=["M06"])
def a_reader_that_asks_again_misses_nothing():
    """A reader whose Fetch answers get lost MUST still be given every record, in order and without repeats."""
    return Trial(
        workload=SendAndRead(producers=3, idempotent=True, partitions=3, readers_=3),
        schedule=Windows(drop_response(api="Fetch", every=15, times=15)),
    )
