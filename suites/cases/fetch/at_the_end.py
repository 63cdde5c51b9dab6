"""Fetch at the end of the log."""

from suites.case import case
from suites.probe import batch


@case("fetch/at-the-end", guarantee="fetch-004")
def a_fetch_at_the_end_waits_and_comes_back_empty(wire, topic):
    """A fetch at the log end MUST NOT be an error: it waits for data up to max_wait and then answers empty.

    It comes back early when a record arrives meanwhile, and the record is in it.
    """
    wire.produce(topic, batch("a"))

    wire.fetch(topic, offset=1, max_wait_ms=0, min_bytes=1).must_be_empty()
    waited = wire.fetch(topic, offset=1, max_wait_ms=1_000, min_bytes=1).must_be_empty()
    waited.must(waited.took_ms >= 900, f"it came back after {waited.took_ms:.0f} ms; it must wait for 1000 ms")
    waited.must_have("responses[0].partitions[0].high_watermark", 1)

    waiting = wire.fetch(topic, offset=1, max_wait_ms=20_000, min_bytes=1, via="reader", wait=False)
    wire.produce(topic, batch("b"))
    waiting.must_hold("b")
    waiting.must(waiting.took_ms < 15_000 + 1_000 * wire.slack_s, f"it took {waiting.took_ms:.0f} ms to come back")
