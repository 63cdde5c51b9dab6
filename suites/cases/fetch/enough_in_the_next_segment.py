"""Fetches that ask for more than is left of a segment, while the next one holds enough."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch

WAIT_MS, RECORD, BATCHES, ENOUGH = 20_000, 300_000, 12, 3
SEGMENTS = {"segment.bytes": str(1 << 20)}
"""Three batches fill one."""


@case(
    "fetch/enough-in-the-next-segment",
    guarantees=["fetch-008"],
    apis={"Fetch": 4},
    needs=["topic-settings"],
    detects=["B366"],
)
def what_lies_in_the_next_segment_is_there(wire, topic_of):
    """A fetch SHOULD be answered at once, and with records, where the log holds its min_bytes behind its position, in
    whichever segments they lie: a read may end with its segment, and is not waited for then.

    Twelve batches of 300 kB, of which three fill a segment; 900 kB are asked for from each offset that has as much
    behind it.
    """
    topic = topic_of(configs=SEGMENTS)
    for number in range(BATCHES):
        wire.produce(topic, batch(f"{number:04}" * (RECORD // 4))).must_be_at(number)
    for offset in range(BATCHES - ENOUGH):
        with wire.part(f"from {offset}"):
            answer = wire.fetch(topic, offset=offset, min_bytes=ENOUGH * RECORD, max_wait_ms=WAIT_MS)
            answer.must_reach(offset)
            wire.at_once(answer, hidden_s=WAIT_MS / 1_000)
