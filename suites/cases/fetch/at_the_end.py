"""Fetch at the end of the log: it waits for as much as was asked for, and for as long (KIP-74, fetch.min.bytes)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch


@case("fetch/at-the-end", guarantee="fetch-004", smoke=True, detects=["M37d"])
def a_fetch_at_the_end_waits_and_comes_back_empty(wire, topic):
    """A fetch at the log end MUST NOT be an error: it waits for data up to max_wait and then answers empty.

    It comes back early when a record arrives meanwhile, and the record is in it.
    """
    wire.produce(topic, batch("a"))

    wire.fetch(topic, offset=1, max_wait_ms=0, min_bytes=1).must_be_empty()
    wire.fetch(topic, offset=1, max_wait_ms=5_000, min_bytes=0).must_be_empty()
    waited = wire.fetch(topic, offset=1, max_wait_ms=1_000, min_bytes=1).must_be_empty()
    waited.must(waited.took_ms >= 900, f"it came back after {waited.took_ms:.0f} ms; it must wait for 1000 ms")
    waited.must_have("responses[0].partitions[0].high_watermark", 1)

    waiting = wire.fetch(topic, offset=1, max_wait_ms=20_000, min_bytes=1, via="reader", wait=False)
    written = wire.produce(topic, batch("b"))
    waiting.must_hold("b")
    wire.at_once(waiting, after=written, hidden_s=20)


@case("fetch/enough-bytes", guarantee="fetch-008", detects=["M37d"])
def a_fetch_comes_back_once_there_are_enough_bytes(wire, topic):
    """A fetch SHOULD be answered as soon as min_bytes can be read, and after max_wait with whatever there is.

    Three batches arrive one after the other and only all of them are enough; then a fetch that asks for more than
    there will ever be.
    """
    made = [batch(f"{number}" * 500) for number in range(3)]
    waiting = wire.fetch(topic, max_wait_ms=20_000, min_bytes=sum(map(len, made)), via="reader", wait=False)
    *_, last = [wire.produce(topic, part) for part in made]
    waiting.must_hold("0" * 500, "1" * 500, "2" * 500)
    wire.at_once(waiting, after=last, hidden_s=20)

    short = wire.fetch(topic, offset=2, max_wait_ms=1_000, min_bytes=1_000_000).must_hold("2" * 500)
    short.must(short.took_ms >= 900, f"it came back after {short.took_ms:.0f} ms; it must wait for 1000 ms")
    wire.at_once(short, asked_s=1)
