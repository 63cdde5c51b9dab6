"""The offset that a Produce answer names."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch


@case("produce/base-offset", guarantee="prod-001", smoke=True, detects=["M07a", "M07b:every=3"])
def the_answer_names_the_offset_of_the_first_record(wire, topic):
    """A Produce answer MUST name the offset of the batch's first record; record i is then read at base + i."""
    sizes = (1, 5, 2, 500, 1, 50)
    expected, values = 0, []
    for number, size in enumerate(sizes):
        batched = [f"{number}.{record}" for record in range(size)]
        wire.produce(topic, batch(*batched)).must_be_at(expected)
        expected += size
        values += batched

    wire.read_all(topic).must_hold(*values).must_have_offsets(range(expected))
