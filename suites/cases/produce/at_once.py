"""Records of many clients at the same moment, each client on its own connection."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.at_once import once

CLIENTS, REQUESTS, PARTITIONS = 16, 8, 6
WITHIN_S = 30
CODECS = ("none", "gzip", "lz4", "snappy", "zstd")


@case(
    "produce/many-clients-at-once",
    guarantees=["prod-001", "ord-003", "ord-004"],
    needs=["partitions"],
    detects=["M05", "M07a"],
)
def each_of_many_clients_is_answered_for_its_own(wire, topic_of, rng):
    """However many clients send at the same moment, each batch MUST lie where its answer says, those of a client in the
    order in which they were sent, and no other offset may be used or left out.

    Sixteen clients, eight requests each without waiting for an answer, of one to six partitions of two topics.
    """
    topics = [topic_of(what=what, partitions=PARTITIONS) for what in ("one", "two")]
    places = [(topic, partition) for topic in topics for partition in range(PARTITIONS)]
    asks, asked = [], []
    for turn in range(REQUESTS):
        for client in range(CLIENTS):
            first, *others = rng.sample(places, rng.randint(1, PARTITIONS))
            together = [first, *(place for place in others if wire.leader(*place) == wire.leader(*first))]
            values = {place: [f"{client} {turn} {n}" for n in range(rng.randint(1, 20))] for place in together}
            codec = rng.choice(CODECS)
            batches = {place: batch(*each, compression=codec) for place, each in values.items()}
            asked.append((client, values))
            asks.append(partial(wire.produce_all, batches, acks=rng.choice((1, -1)), via=f"client {client}"))
    answers = once(wire, asks)
    due = {place: {} for place in places}  # type: ignore[var-annotated]
    latest = dict[tuple[int, tuple[str, int]], int]()
    for answer, (client, values) in zip(answers, asked, strict=True):
        for place, each in values.items():
            part = answer.of(*place)
            begun = part.offset
            part.must(
                begun > latest.get((client, place), -1), f"offset {begun} comes after a later batch of its client"
            )
            latest[client, place] = begun + len(each) - 1
            for offset, value in enumerate(each, begun):
                part.must(offset not in due[place], f"offset {offset} of {place} is given to two clients")
                due[place][offset] = value.encode()
    for (topic, partition), values in due.items():
        wire.until(
            lambda place=(topic, partition), end=len(values): wire.log_end(*place) >= end,
            within=WITHIN_S,
            what="the followers have what was written with acks=1",
        )
        read = wire.read_all(topic, partition)
        found = {record.offset: record.value for record in read.records}
        wrong = sorted(offset for offset in {*found, *values} if found.get(offset) != values.get(offset))
        read.must(not wrong, f"the offsets {wrong[:5]} hold other values than their answers say")
        read.must(sorted(values) == list(range(len(values))), "offsets were left out")
