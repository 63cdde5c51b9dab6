"""Lines between clients and nodes that are narrow, long, or cut what they carry into small pieces: all arrives."""

from brokertrial.faults.kinds.latency import latency
from brokertrial.faults.kinds.limit_bandwidth import limit_bandwidth
from brokertrial.faults.kinds.slicer import slicer
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import GroupChurn, SendAndRead

END = after("f1", "begin", delay_ms=5_000)


@case("lines/narrow", guarantees=["ord-007", "fetch-015"], needs=["bandwidth", "proxy"], detects=["M06"])
def readers_behind_a_narrow_line_miss_nothing():
    """Readers behind a line that carries less than is sent MUST be given each partition in order, without skips or
    repeats.

    Answers to Fetch wait in the broker meanwhile, in whole and in part.
    """
    return Trial(
        workload=SendAndRead(producers=3, idempotent=True, partitions=3, readers_=3, size=1_000),
        schedule=Windows(limit_bandwidth("leader({topic},0)", kbit_per_s=1_200, begin=at_op(300), end=END)),
        longest_s=60.0,
    )


@case("lines/long", guarantees=["ord-002", "ord-003"], needs=["latency", "proxy"], detects=["M05"])
def requests_on_their_way_are_appended_in_the_order_sent():
    """Produce requests of which several are on a long line at once MUST be appended in the order sent, also without
    idempotence.
    """
    line = latency("leader({topic},0)", 120, jitter_ms=80, direction="both", begin=at_op(300), end=END)
    return Trial(
        workload=SendAndRead(producers=4, idempotent=False, retries=0, partitions=2, rate=400.0),
        schedule=Windows(line),
    )


@case("lines/sliced", guarantees=["ord-001", "ord-007", "prod-002"], needs=["toxiproxy", "proxy"], detects=["M06"])
def requests_and_answers_in_small_pieces_are_whole():
    """Requests that arrive a few bytes at a time MUST be carried out like any other, and answers be read whole."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3, size=300),
        schedule=Windows(slicer("leader({topic},0)", size=24, delay_us=150, begin=at_op(300), end=END)),
    )


@case(
    "lines/long-to-the-group",
    guarantees=["grp-001", "cmt-005"],
    needs=["latency", "proxy"],
    apis={"JoinGroup": 0},
    detects=["M06"],
)
def a_group_behind_a_long_line_is_given_everything():
    """A group whose members come and go behind a long line MUST be given every record, and each partition in order."""
    for_s = after("f1", "begin", delay_ms=12_000)  # a rebalance takes two seconds there
    line = latency("coordinator({group})", 200, jitter_ms=150, direction="both", begin=at_op(500), end=for_s)
    return Trial(workload=GroupChurn(members=3, partitions=6), schedule=Windows(line), assignments=9, longest_s=60.0)
