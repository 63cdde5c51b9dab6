"""How much a Fetch brings that may have had to wait (KIP-74): what there is when there is enough, within its limits."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch

WAIT_MS, TURNS, MUCH = 20_000, 40, 1 << 20


@case(
    "fetch/how-much-after-a-wait",
    guarantees=["fetch-008", "fetch-007", "fetch-006"],
    apis={"Fetch": 4},
    detects=["V67", "V68"],
)
def a_fetch_that_waited_brings_what_one_brings_that_did_not(wire, topic, rng):
    """A fetch that waits for min_bytes MUST be answered once as many bytes are there and not before, with every batch
    that max_bytes and the partition's limit allow, whenever it was written: before the fetch came, or a batch at a time
    while it waited.

    Forty turns, with drawn sizes, limits and versions; only the last batch makes it enough, and may be there already.
    """
    end = 0
    for turn in range(TURNS):
        made = [batch("x" * rng.randint(1, 900), f"{turn}-{n}") for n in range(rng.randint(2, 6))]
        there = rng.randint(0, len(made))
        whole = sum(map(len, made))
        least = whole - rng.randint(0, len(made[-1]) - 1)
        limits = [rng.choice((MUCH, least + rng.randint(0, 1_000))) for _ in range(2)]
        start, version = end, rng.choice(wire.versions("Fetch"))
        for each in made[:there]:
            wire.produce(topic, each).must_be_at(end)
            end += 2
        with wire.part(f"v{version}, turn {turn}"):
            waiting = wire.fetch(
                topic,
                offset=start,
                min_bytes=least,
                max_bytes=limits[0],
                partition_max_bytes=limits[1],
                max_wait_ms=WAIT_MS,
                version=version,
                via=f"reader {turn}",
                wait=False,
            )
            wire.list_offsets(topic, at="latest").must_name(offset=start + 2 * there)
            written = None
            for each in made[there:]:
                written = wire.produce(topic, each).must_be_at(end)
                end += 2
            fits = [n for n in range(len(made)) if sum(map(len, made[: n + 1])) <= min(limits)]
            must_hold = list(range(start, start + 2 * len(fits)))
            amount = "more" if len(waiting.offsets) > len(must_hold) else "less"
            waiting.must(
                waiting.offsets == must_hold,
                f"{len(made)} batches of {[len(each) for each in made]} bytes from {start}, of which {there} were "
                f"there, min_bytes {least}, limits {limits}: it brings {amount} than fits, {waiting.offsets}",
            )
            wire.at_once(waiting, after=written, hidden_s=WAIT_MS / 1_000)
