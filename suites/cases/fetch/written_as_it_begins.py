"""Records that are written at the moment at which a reader begins to wait for them."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch
from brokertrial.suites.probe.at_once import once

ROUNDS, READERS, PARTITIONS, WAIT_MS = 40, 4, 3, 20_000


@case(
    "fetch/written-as-the-wait-begins",
    guarantees=["fetch-004", "fetch-008"],
    apis={"Fetch": 4},
    needs=["partitions"],
    detects=["B304"],
)
def no_reader_sleeps_through_a_record(wire, topic_of, rng):
    """A record that is written at the moment at which readers begin to wait for it MUST end their waits at once,
    whichever came first.

    40 rounds: two to four readers of one to three partitions, of which every other one reads what is committed alone,
    and a writer of one of them leave at the same moment, in a drawn order.
    """
    topic = topic_of(partitions=PARTITIONS * len(wire.nodes))
    places = [(topic, partition) for partition in wire.led_together(topic, PARTITIONS)]
    ends = dict.fromkeys(places, 0)
    for turn in range(ROUNDS):
        place = rng.choice(places)
        wanted = [
            [place, *rng.sample([each for each in places if each != place], rng.randint(0, PARTITIONS - 1))]
            for _ in range(rng.randint(2, READERS))
        ]
        asks = [partial(wire.produce, topic, batch(f"{turn}"), place[1], via="writer")]
        asks += [
            partial(
                wire.fetch_many,
                {each: ends[each] for each in asked},
                max_wait_ms=WAIT_MS,
                isolation=COMMITTED if number % 2 else UNCOMMITTED,
                via=f"reader {number}",
            )
            for number, asked in enumerate(wanted)
        ]
        order = rng.sample(range(len(asks)), len(asks))
        answers = dict(zip(order, once(wire, [asks[number] for number in order]), strict=True))
        answers.pop(0).must_be_at(ends[place])
        for answer in answers.values():
            wire.at_once(answer, hidden_s=WAIT_MS / 1_000)
            answer.must_succeed().of(*place).must_hold(f"{turn}")
        ends[place] += 1
