"""What the limits of a Fetch leave out (KIP-74), for readers of several partitions at the same moment."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.at_once import once
from brokertrial.suites.probe.fetch import Fetched
from brokertrial.wire.messages import request

PARTITIONS, BATCHES, TURNS, READERS = 3, 6, 6, 8
MUCH, LATE = 1 << 20, 2


@case(
    "fetch/no-more-than-the-limits",
    guarantee="fetch-007",
    apis={"Fetch": 4},
    needs=["partitions"],
    detects=["B207"],
)
def beyond_the_first_batch_nothing_is_over_the_limits(wire, topic_of, rng):
    """Beyond the first batch of an answer, a Fetch SHOULD NOT bring more bytes than max_bytes, nor more of a partition
    than the limit that was asked for it, whether it found enough at once or had to wait.

    Six turns of eight readers at once, of one to three partitions in a drawn order, whose limits are about what the
    first, the second or the third batch needs; what half of them wait for is written while they do.
    """
    topic = topic_of(partitions=PARTITIONS * len(wire.nodes))
    ends = dict.fromkeys(wire.led_together(topic, PARTITIONS), 0)
    for _ in range(TURNS):
        starts, sizes = dict(ends), {}
        made = {place: [batch("x" * rng.randint(1, 2_000)) for _ in range(BATCHES)] for place in ends}
        for place in ends:
            sizes[place] = [sum(map(len, made[place][:count])) for count in range(1, BATCHES)]
            _write(wire, topic, place, made[place][:-LATE], ends)
        readers = [_drawn(wire, rng, topic, starts, sizes, number) for number in range(READERS)]
        answers = once(wire, [ask for ask, _ in readers])
        for place in ends:
            _write(wire, topic, place, made[place][-LATE:], ends)
        for answer, (_, limits) in zip(answers, readers, strict=True):
            with wire.part(f"v{answer.version}"):
                _must_fit(answer, *limits)


def _write(wire, topic, partition, made, ends):
    for each in made:
        wire.produce(topic, each, partition).must_be_at(ends[partition])
        ends[partition] += 1


def _drawn(wire, rng, topic, starts, sizes, number):
    """A Fetch, and its limits in all and of a partition."""
    some = rng.sample(list(starts), rng.randint(1, PARTITIONS))
    near = rng.choice(sizes[some[0]][:3]) + rng.choice((-1, 0, 1, 500))
    whole, each = rng.choice(((near, MUCH), (MUCH, near), (near, near), (1, 1), (near, 1)))
    rows = [
        {"partition": partition, "fetch_offset": starts[partition], "partition_max_bytes": each} for partition in some
    ]
    asked = request(
        "Fetch",
        max_bytes=whole,
        min_bytes=rng.choice((1, MUCH)),
        max_wait_ms=rng.choice((50, 300)),
        session_epoch=-1,
        topics=[{"topic": topic, "topic_id": wire.topic_id(topic), "partitions": rows}],
    )
    version, to = rng.choice(wire.versions("Fetch")), wire.leader(topic, some[0])
    return partial(wire.ask, asked, version=version, to=to, via=f"reader {number}"), (whole, each)


def _must_fit(answer, whole, each):
    """Only the first batch of the first partition that has records may be larger than the limits."""
    count = sum(len(row.partitions) for row in answer.struct.responses[:1])
    found = [Fetched(answer.asked, f"responses[0].partitions[{number}]") for number in range(count)]
    first = next((len(one.batches[0].bytes) for one in found if one.batches), 0)
    sizes = [len(one.raw) for one in found if one.raw]
    held = f"with the limits {whole} in all and {each} of a partition, and a first batch of {first} bytes"
    fits = all(size <= (each if number else max(each, first)) for number, size in enumerate(sizes))
    answer.must(fits, f"{held} it holds {sizes} bytes of partitions", "responses")
    answer.must(sum(sizes) <= max(whole, first), f"{held} it holds {sum(sizes)} bytes in all", "responses")
