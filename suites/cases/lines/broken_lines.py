"""Lines between producers and a leader that break: in a request, in an answer, by a reset, or without a word."""

from brokertrial.faults.kinds.limit_data import limit_data
from brokertrial.faults.kinds.reset_peer import reset_peer
from brokertrial.faults.kinds.timeout import timeout
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import SendAndRead

LEADER = "leader({topic},0)"
NEEDS = ["toxiproxy", "proxy"]
BEGIN, END = at_op(300), after("f1", "begin", delay_ms=5_000)
SENDS = SendAndRead(producers=4, idempotent=True, partitions=3)


@case("lines/cut-in-a-request", guarantees=["prod-002", "idem-006"], needs=NEEDS, detects=["M09"])
def requests_that_were_cut_leave_nothing_in_part():
    """A request whose connection ended before all of it had arrived MUST leave nothing behind, and what is sent again
    MUST be in the log once and in order.
    """
    return Trial(workload=SENDS, schedule=Windows(limit_data(LEADER, 5_000, begin=BEGIN, end=END)))


@case("lines/cut-in-an-answer", guarantees=["idem-002", "idem-006", "ord-007"], needs=NEEDS, detects=["M09"])
def answers_that_were_cut_double_nothing():
    """Records whose acknowledgement was cut off in the middle MUST be in the log once, and readers whose Fetch was cut
    off MUST go on where they were.
    """
    cut = limit_data(LEADER, 4_000, direction="answers", begin=BEGIN, end=END)
    return Trial(workload=SENDS, schedule=Windows(cut))


@case("lines/reset", guarantees=["idem-002", "ord-002"], needs=NEEDS, detects=["M09"])
def connections_that_are_reset_lose_and_double_nothing():
    """Whenever connections are reset under requests and answers, what was acknowledged MUST be in the log once and in
    order.
    """
    return Trial(workload=SENDS, schedule=Windows(reset_peer(LEADER, 150, begin=BEGIN, end=END)))


@case("lines/answers-swallowed", guarantees=["idem-002", "idem-006"], needs=NEEDS, detects=["M09"])
def a_producer_that_gets_no_answer_writes_once():
    """Records of producers whose requests arrive and whose answers are lost MUST be in the log once, and in order."""
    return Trial(workload=SENDS, schedule=Windows(timeout(LEADER, direction="answers", begin=BEGIN, end=END)))


@case("lines/requests-swallowed", guarantees=["ord-007", "prod-002"], needs=NEEDS, detects=["M06"])
def clients_that_no_broker_hears_lose_nothing():
    """What was acknowledged MUST be in the log, and readers MUST go on where they were, after a time in which no
    request of its clients reached a leader.
    """
    return Trial(workload=SENDS, schedule=Windows(timeout(LEADER, direction="requests", begin=BEGIN, end=END)))
