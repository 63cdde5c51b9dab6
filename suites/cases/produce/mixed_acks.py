"""Batches with every kind of acks in one stream: their order, their answers, what a reader finds (KIP-679)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

OFFSET = "responses[].partition_responses[].base_offset"


@case(
    "produce/acks-of-every-kind-in-one-stream",
    guarantees=["ord-003", "prot-009", "prod-001"],
    detects=["M05", edit_answer(OFFSET, add=1, api="Produce", skip=2)],
)
def one_connection_writes_in_order_whatever_its_acks(wire, topic, rng):
    """Produce requests under way together on one connection MUST be appended in the order sent, each with its own acks:
    those with an answer return their own offset, those with acks=0 are not answered, and one that is refused in between
    takes no offset.
    """
    node, offset, waiting, values = wire.leader(topic), 0, [], []
    for turn in range(60):
        acks, count = rng.choice((0, 1, -1, -1)), rng.randint(1, 3)
        held = [f"{turn}.{n}" for n in range(count)]
        if turn % 10 == 7:
            damaged = wire.produce(topic, batch("damaged", crc=7), to=node, via="one", wait=False)
            waiting.append((None, damaged))
        answer = wire.produce(topic, batch(*held), acks=acks, to=node, via="one", wait=False)
        if acks:
            waiting.append((offset, answer))  # type: ignore[arg-type]
        values += held
        offset += count
    for at, answer in waiting:
        if at is None:
            answer.must_be_refused(errors.CORRUPT_MESSAGE)
        else:
            answer.must_be_at(at)  # type: ignore[unreachable]
    wire.until(lambda: wire.log_end(topic) >= offset, within=10, what="all batches are in the log")
    wire.read_all(topic).must_hold(*values)


@case(
    "produce/several-topics-and-partitions-at-once",
    guarantees=["prod-007", "prod-001", "ord-003"],
    needs=["partitions"],
    detects=["M38e", edit_answer(OFFSET, add=1, api="Produce", skip=1)],
)
def each_partition_of_many_requests_has_its_own_order(wire, topic_of, rng):
    """Requests under way together that each bring batches to several partitions of several topics MUST be appended in
    order in each partition, each batch answered once with its own offset, one that is refused not harming another.
    """
    topic, other = topic_of(partitions=3 * len(wire.nodes)), topic_of(partitions=3 * len(wire.nodes), what="other")
    node = wire.leader(topic)
    places = [
        (name, partition)
        for name in (topic, other)
        for partition in sorted(wire.known_partitions(name))
        if wire.leader(name, partition) == node
    ]
    places = [(topic, 0), *(place for place in places if place != (topic, 0))]
    held: dict[tuple[str, int], list[str]] = {place: [] for place in places}
    waiting = []
    for turn in range(20):
        chosen = rng.sample(places[1:], rng.randint(1, len(places) - 1))
        bad = rng.choice(chosen)
        sent = {place: [f"{turn} {n}" for n in range(rng.randint(1, 3))] for place in [places[0], *chosen]}
        batches = {place: batch(*values, **({"crc": 7} if place == bad else {})) for place, values in sent.items()}  # type: ignore[arg-type]
        at = {place: len(held[place]) for place in sent}
        waiting.append((bad, at, wire.produce_all(batches, to=node, via="one", wait=False)))
        for place, values in sent.items():
            held[place] += [] if place == bad else values
    for bad, at, answer in waiting:
        for place, offset in at.items():
            part = answer.of(*place)
            if place == bad:
                part.must_be_refused(errors.CORRUPT_MESSAGE)
            else:
                part.must_be_at(offset)
    for place, values in held.items():
        wire.read_all(*place).must_hold(*values)
