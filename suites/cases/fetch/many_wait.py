"""Many readers that wait at the end of one partition."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch

READERS, WAIT_MS, TURNS = 60, 20_000, 3


@case("fetch/all-who-wait-are-answered", guarantees=["fetch-004", "fetch-008"], apis={"Fetch": 4}, detects=["B283"])
def one_record_ends_every_wait(wire, topic):
    """What is written to a partition MUST end the wait of every reader at its end, however many they are, and each MUST
    be given it.

    60 readers, of which every other one reads what is committed alone; three turns.
    """
    for turn in range(TURNS):
        waiting = [
            wire.fetch(
                topic,
                offset=turn,
                max_wait_ms=WAIT_MS,
                min_bytes=1,
                isolation=COMMITTED if number % 2 else UNCOMMITTED,
                via=f"reader {number}",
                wait=False,
            )
            for number in range(READERS)
        ]
        wire.list_offsets(topic, at="latest").must_name(offset=turn)
        written = wire.produce(topic, batch(f"{turn}")).must_be_at(turn)
        for answer in waiting:
            answer.must_hold(f"{turn}")
            wire.at_once(answer, after=written, hidden_s=WAIT_MS / 1_000)
