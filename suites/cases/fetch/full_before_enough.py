"""Fetches that ask for more than they may hold: min_bytes above max_bytes (KIP-74, KIP-541)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch

WAIT_MS = 20_000
RECORD = 1_000
BATCHES = 12


@case("fetch/full-before-it-is-enough", guarantees=["fetch-008"], apis={"Fetch": 3}, detects=["F05"])
def what_is_full_is_not_waited_for(wire, topic, rng):
    """A fetch SHOULD be answered at once with as much as max_bytes allows, although min_bytes asks for more: waiting
    cannot add to it.

    Limits on and between the ends of batches are drawn, in each version; with less than max_bytes there it waits, and
    the record that makes it full ends the wait.
    """
    made = [batch(f"{number:04}" * (RECORD // 4)) for number in range(BATCHES)]
    for pending in [wire.produce(topic, part, wait=False) for part in made]:
        pending.must_succeed()
    size = len(made[0])
    for version in (version for version in wire.versions("Fetch") if version >= 3):
        with wire.part(f"v{version}"):
            limit = rng.randint(2, 6) * size + rng.choice((0, -1, 1, size // 2))
            least = limit + rng.choice((1, size, 1 << 20))
            full = wire.fetch(topic, max_bytes=limit, min_bytes=least, max_wait_ms=WAIT_MS, version=version)
            full.must_reach(limit // size - 1)
            wire.at_once(full, hidden_s=WAIT_MS / 1_000)

    short = {"offset": BATCHES - 1, "max_bytes": 2 * size, "min_bytes": 1 << 20}
    waiting = wire.fetch(topic, **short, max_wait_ms=WAIT_MS, via="reader", wait=False)
    wire.list_offsets(topic).must_name(offset=BATCHES)
    written = wire.produce(topic, batch("last" * (RECORD // 4))).must_be_at(BATCHES)
    waiting.must_reach(BATCHES)
    wire.at_once(waiting, after=written, hidden_s=WAIT_MS / 1_000)
