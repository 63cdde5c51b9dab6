"""What was acknowledged before its node went down is there when it is back, and its offset is not given out again."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch

NAMES = [f"before {number}" for number in range(5)]


@case(
    "produce/crash-keeps-the-tail",
    guarantees=["prod-002", "ord-006"],
    needs=["leaders", "kill", "restart"],
    smoke=True,
    detects=["M02a", "M03"],
)
def a_crash_takes_nothing_that_was_acknowledged(wire, topic, nodes):
    """What was acknowledged by all in-sync replicas MUST be there after the leader was killed, down to the last record,
    and the next record MUST get the next offset.
    """
    _all_stays(wire, topic, nodes.crash, nodes)


@case(
    "produce/stop-keeps-the-tail",
    guarantees=["prod-018", "ord-006"],
    needs=["leaders", "terminate", "restart"],
    detects=["M02b"],
)
def an_orderly_stop_takes_nothing_that_was_acknowledged(wire, topic, nodes):
    """What was acknowledged MUST be there after the leader was asked to stop, down to the last record, and the next
    record MUST get the next offset.
    """
    _all_stays(wire, topic, nodes.stop_and_start, nodes)


def _all_stays(wire, topic, go_down, nodes):
    for number, name in enumerate(NAMES):
        wire.produce(topic, batch(name)).must_be_at(number)
    go_down(nodes.of(topic))
    wire.await_topic(topic)
    wire.read_all(topic).must_hold(*NAMES)
    wire.produce(topic, batch("after")).must_be_at(len(NAMES))
    wire.read_all(topic).must_hold(*NAMES, "after")
