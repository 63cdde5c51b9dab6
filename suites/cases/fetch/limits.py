"""Size limits of a Fetch (KIP-74): a first batch always comes, and no partition starves."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch


@case("fetch/first-batch-whatever-its-size", guarantee="fetch-006", needs=["partitions"], detects=["M37c"])
def the_first_batch_comes_whatever_the_limits(wire, topic_of):
    """The first non-empty partition of a fetch MUST give at least one whole batch, however small the limits are.

    Without it a reader would stay before a large batch for ever. The first in the request's order counts; the first
    here is empty.
    """
    topic = topic_of(partitions=3 * len(wire.nodes))
    empty, first, second = wire.led_together(topic, 3)
    made = batch("x" * 200_000)
    wire.produce(topic, made, first)
    wire.produce(topic, made, second)

    wire.fetch(topic, first, max_bytes=1).must_reach(0)
    wire.fetch(topic, first, partition_max_bytes=1).must_reach(0)
    for order in ([empty, first, second], [empty, second, first]):
        positions = {(topic, partition): 0 for partition in order}
        answer = wire.fetch_many(positions, max_bytes=1, partition_max_bytes=1, max_wait_ms=5_000, min_bytes=1)
        answer.of(topic, order[1]).must_reach(0)


@case(
    "fetch/limits-hold",
    guarantee="fetch-007",
    needs=["partitions"],
    detects=[edit_answer("responses[].partitions[].records[0]", repeat=True, api="Fetch")],
)
def limits_hold_beyond_the_first_batch(wire, topic_of):
    """Beyond the first batch an answer SHOULD NOT hold more than max_bytes, nor a partition more than its own limit."""
    topic = topic_of(partitions=3 * len(wire.nodes))
    places = [(topic, partition) for partition in wire.led_together(topic, 3)]
    made = batch("x" * 1_000)
    for place in places:
        for pending in [wire.produce(topic, made, place[1], wait=False) for _ in range(8)]:
            pending.must_succeed()

    for max_bytes, part_bytes in ((5_000, 1 << 20), (1 << 20, 2_500), (4_000, 2_500)):
        answer = wire.fetch_many(dict.fromkeys(places, 0), max_bytes=max_bytes, partition_max_bytes=part_bytes)
        sizes = answer.sizes
        fits = sum(sizes.values()) <= max_bytes and all(size <= part_bytes for size in sizes.values())
        answer.must(fits, f"with the limits {max_bytes} and {part_bytes} bytes it holds {sizes}", "responses")
