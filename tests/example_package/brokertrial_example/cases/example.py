"""Offsets begin at zero: one case of single requests, one trial under a fault of this package."""

from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import at_op
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import SendAndRead
from brokertrial_example.jitter import jitter


@case("example/first-record", guarantees=["example-001", "prod-001"])
def the_first_record_has_offset_zero(wire, topic):
    """The first record of a new topic MUST be at offset 0, and the next ones right behind it."""
    wire.produce(topic, batch("a")).must_be_at(0)
    wire.produce(topic, batch("b", "c")).must_be_at(1)
    wire.read_all(topic).must_hold("a", "b", "c").must_have_offsets(range(3))


@case("example/jittery-answers", guarantees=["example-001", "prod-002"], needs=["proxy"])
def offsets_count_from_zero_however_late_the_answers_are():
    """Records MUST have offsets from 0 on, also while answers come late and at random."""
    return Trial(
        workload=SendAndRead(producers=2),
        schedule=Windows(jitter(most_ms=20, api="Produce", begin=at_op(100))),
        length=600,
        checks=("negative-offset",),
    )
