"""Whole transactions that arrive at one moment: records, and the end that does not wait for them."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.at_once import once
from brokertrial.suites.probe.produce import UNVERIFIED

ROUNDS, PRODUCERS, PLACES, LONGEST_MS, WITHIN_S, AGAIN_S = 25, 3, 4, 60_000, 20, 0.1


@case(
    "transactions/sent-whole-at-one-moment",
    guarantees=["txn-001", "txn-002", "txn-018", "txn-004"],
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0},
    needs=["partitions"],
    detects=["M15b"],
)
def what_was_taken_is_as_the_end_decides(wire, topic_of, rng):
    """Where the records of a transaction and its end arrive at one moment, a record that was accepted MUST be delivered
    if the end is a commit that was acknowledged, and not otherwise; one that was refused MUST NOT be; and no partition
    MUST stay unstable once the producer has begun anew.

    Three producers, 25 rounds: each writes to one partition, and then to one to three others while its transaction
    ends, by draw.
    """
    topic = topic_of(partitions=PLACES)
    producers = [
        wire.producer(wire.name(f"x{number}"), timeout_ms=LONGEST_MS, via=f"producer {number}")
        for number in range(PRODUCERS)
    ]
    due: dict[int, set[str]] = {partition: set() for partition in range(PLACES)}
    for turn in range(ROUNDS):
        whole = [Whole(producer, topic, f"{turn} {number}", rng) for number, producer in enumerate(producers)]
        steps = [one for one in whole for _ in one.steps]
        order = [(one, next(one.left)) for one in rng.sample(steps, len(steps))]
        for (one, _), answer in zip(order, once(wire, [step for _, step in order]), strict=True):
            one.answers.append(answer)
        for one in whole:
            for partition in one.decided(wire):
                due[partition].add(one.value)
            one.producer.start()
        for partition in range(PLACES):
            wire.await_settled(topic, partition, within=WITHIN_S)
            read = wire.read_all(topic, partition, isolation=COMMITTED)
            found = {record.value.decode() for record in read.records}
            others = sorted(found ^ due[partition])
            read.must(
                not others and len(read.records) == len(found),
                f"of partition {partition} it holds {len(read.records)} records, not the {len(due[partition])} due; "
                f"they differ in {', '.join(others[:2])}",
            )


class Whole:
    """A transaction with a record in one partition, and what is sent at one moment: more records, and its end."""

    def __init__(self, producer, topic, value, rng):
        self.producer, self.value = producer, value
        self.first, *self.others = rng.sample(range(PLACES), rng.randint(2, PLACES))
        producer.send(topic, value, partition=self.first).must_succeed()
        self.commit = rng.random() < 0.6
        self.end = producer.commit if self.commit else producer.abort
        sends = [producer.prepared(topic, value, partition=partition) for partition in self.others]
        self.steps = [*(partial(send, via=f"records of {producer.via}") for send in sends), self.end]
        self.left = iter(self.steps)
        self.answers: list[Response] = []

    def decided(self, wire):
        """The partitions whose records must be delivered."""
        *sent, end = self.answers
        taken = [self.first]
        for partition, answer in zip(self.others, sent, strict=True):
            answer.examined = True
            taken += [] if answer.error else [partition]
        while end.error in UNVERIFIED:
            end.examined = True
            wire.rest(AGAIN_S)
            end = self.end(wait=False)
        end.must_succeed()
        return taken if self.commit else []
