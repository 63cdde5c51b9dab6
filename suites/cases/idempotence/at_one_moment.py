"""Batches of an idempotent producer that arrive at one moment, on two connections, some of them twice."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe.at_once import once
from brokertrial.wire import errors

ROUNDS, PRODUCERS, PARTITIONS, WINDOW = 25, 3, 2, 5
REFUSED = (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.DUPLICATE_SEQUENCE_NUMBER)


@case(
    "idempotence/sent-twice-at-one-moment",
    guarantees=["idem-002", "idem-003", "idem-005", "idem-006"],
    apis={"InitProducerId": 0},
    needs=["partitions"],
    detects=["M12"],
)
def each_batch_is_written_once(wire, topic_of, rng):
    """Where the batches of a producer arrive at one moment, in their order on one connection and some of them in any
    order on another, each MUST be written once, in the order of their sequences: answered with the offset at which it
    lies, or refused as out of order (45) or as a duplicate (46) and taken when it is sent again.

    Three producers and two partitions, 25 rounds of one to five batches of each producer.
    """
    topic = topic_of(partitions=PARTITIONS)
    producers = [wire.producer() for _ in range(PRODUCERS)]
    logs: dict[int, list[str]] = {partition: [] for partition in range(PARTITIONS)}
    for partition, log in logs.items():  # of a producer that is not known a partition takes any sequence
        for number, producer in enumerate(producers):
            producer.send(topic, f"{number}", partition=partition).must_succeed()
            log.append(f"{number}")
    for turn in range(ROUNDS):
        partition = rng.randrange(PARTITIONS)
        made, asks = _made(wire, topic, partition, producers, turn, rng)
        answers = once(wire, [ask for _, ask in asks])
        lies: dict[str, int] = {}
        for (value, _), answer in zip(asks, answers, strict=True):
            if answer.error in REFUSED:
                answer.examined = True
                continue
            offset = answer.must_succeed().offset
            known = lies.setdefault(value, offset)
            answer.must(offset == known, f"'{value}' is answered with offsets {known} and {offset}", "responses")
        for batches in made:
            for value, send in batches:
                offset = send(via="again").must_succeed().offset
                known = lies.setdefault(value, offset)
                wire.must(offset == known, f"'{value}' is answered with offsets {known} and {offset}")
        logs[partition] += sorted(lies, key=lambda value: lies[value])
        for batches in made:
            order = [lies[value] for value, _ in batches]
            wire.must(order == sorted(order), f"batches of one producer lie at {order}, not in their order")
        wire.read_all(topic, partition).must_hold(*logs[partition])


def _made(wire, topic, partition, producers, turn, rng):
    """The batches of each producer as (value, how to send it), and all that is sent: (value, how), in its order."""
    made, one, other = [], [], []
    for number, producer in enumerate(producers):
        batches = []
        for each in range(rng.randint(1, WINDOW)):
            value = f"{turn} {number} {each}"
            batches.append((value, producer.prepared(topic, value, partition=partition)))
        made.append(batches)
        one.append([(value, partial(send, via=f"one {number}")) for value, send in batches])
        again = rng.sample(batches, rng.randint(0, len(batches)))
        other += [(value, partial(send, via=f"other {number}")) for value, send in again]
    return made, _interleaved([*one, rng.sample(other, len(other))], rng)


def _interleaved(rows, rng):
    """All of them in one row; each keeps its order."""
    turns = [number for number, row in enumerate(rows) for _ in row]
    left = [iter(row) for row in rows]
    return [next(left[number]) for number in rng.sample(turns, len(turns))]
