"""Readers that wait at the end of a partition, of whom some are gone when there is something to read."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch

READERS, GONE, TURNS, WAIT_MS = 40, 25, 4, 20_000


@case(
    "fetch/who-waits-beside-the-gone",
    guarantees=["fetch-004", "fetch-008", "err-005"],
    apis={"Fetch": 4},
    needs=["partitions"],
    detects=["B294"],
)
def the_others_are_answered_all_the_same(wire, topic_of, rng):
    """Readers that wait for records MUST be answered as soon as there are any, whoever else waited beside them and has
    lost its connection meanwhile.

    40 readers of one or two of three partitions, of whom 25 are cut off, drawn; four turns.
    """
    topic = topic_of(partitions=3 * len(wire.nodes))
    places = [(topic, partition) for partition in wire.led_together(topic, 3)]
    leader = wire.leader(*places[0])
    for turn in range(TURNS):
        waiting = {}
        for number in range(READERS):
            wanted = rng.sample(places, rng.randint(1, 2))
            name = f"reader {turn} {number}"
            line = wire.connect(name, leader).connect()
            asked = dict.fromkeys(wanted, turn)
            waiting[name] = line, wanted, wire.fetch_many(asked, max_wait_ms=WAIT_MS, via=name, wait=False)
        for name in rng.sample(list(waiting), GONE):
            line, _, answer = waiting.pop(name)
            answer.examined = True
            line.close()
        for place in rng.sample(places, len(places)):
            written = wire.produce(topic, batch(f"{turn}"), place[1]).must_be_at(turn)
            for name in [name for name, (_, wanted, _) in waiting.items() if place in wanted]:
                line, wanted, answer = waiting.pop(name)
                wire.at_once(answer, after=written, hidden_s=WAIT_MS / 1_000)
                answer.must_succeed().of(*place).must_hold(f"{turn}")
                line.close()
