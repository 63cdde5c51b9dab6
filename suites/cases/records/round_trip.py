"""What a record holds comes back as it was: key, value, headers (KIP-82), time."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire.records import Record


@case("records/round-trip", guarantee="rec-001", smoke=True, detects=["M31b:every=1", "M39d"])
def every_part_of_a_record_comes_back(wire, topic, rng):
    """Key, value and headers MUST be returned byte for byte: null is not empty; headers keep order, duplicates and
    nulls.

    First the corners, each in a batch of its own, then many records with parts drawn at random.
    """
    twice = (("h", b"1"), ("g", b""), ("h", b"2"), ("h", None), ("", b"no name"), ("ü", b"\x00"))
    corners = [
        Record(None, None),
        Record(b"", b""),
        Record(None, b""),
        Record(b"", None),
        Record(b"k", b"\x00\xff" * 20, twice),
        Record(b"k", None, tuple(reversed(twice))),
    ]
    drawn = [_drawn(rng) for _ in range(200)]
    for number, record in enumerate(corners):
        wire.produce(topic, batch(records=[record])).must_be_at(number)
    wire.produce(topic, batch(records=drawn)).must_be_at(len(corners))

    log = wire.read_all(topic).must_have_offsets(range(len(corners) + len(drawn)))
    for sent, read in zip(corners + drawn, log.records, strict=True):
        for part in ("key", "value", "headers"):
            was, came = getattr(sent, part), getattr(read, part)
            log.must(was == came, f"the {part} at offset {read.offset} was {was!r} and came back as {came!r}")


@case("records/times-are-kept", guarantee="rec-002", detects=["M39i"])
def the_producers_time_is_kept(wire, topic_of):
    """Where the producer's time counts it MUST be kept to the millisecond: the present, the year 1970, and none (-1).

    The topic allows any time in the past, so that nothing is refused.
    """
    topic = topic_of(configs={"message.timestamp.type": "CreateTime", "retention.ms": "-1"})
    now = wire.now_ms()
    times = [now, now - 1, 0, 1, -1, 86_400_000, now - 86_399_999, 999]
    for number, time in enumerate(times):
        wire.produce(topic, batch("alone", timestamp=time)).must_be_at(number)
    together = [Record(None, b"together", timestamp=time) for time in times if time >= 0]
    wire.produce(topic, batch(records=together)).must_be_at(len(times))

    wanted = times + [record.timestamp for record in together]
    log = wire.read_all(topic)
    found = [record.timestamp for record in log.records]
    log.must(found == wanted, f"the times are {found}; they must be {wanted}")


def _drawn(rng):
    """A record with random parts, any of which may be null or empty."""

    def some(most):
        return rng.choice([None, b"", rng.randbytes(rng.randint(1, most))])

    headers = tuple((rng.choice(["a", "b", "some longer name"]), some(20)) for _ in range(rng.randint(0, 5)))
    return Record(some(30), some(300), headers)
