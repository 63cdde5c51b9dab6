"""Limits of no bytes at all in a Fetch: as with every limit, one batch comes (KIP-74)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch

BATCHES, PARTITIONS = 3, 3
PLENTY, ZERO, LIMITS_SINCE = 1 << 20, 0, 3
"""From version 3 on a request has a limit of its own, and the first batch comes whatever the limits are."""


@case("fetch/limits-of-zero", guarantee="fetch-006", needs=["partitions"], detects=["B343"])
def a_batch_comes_whatever_the_limits(wire, topic_of, rng):
    """A Fetch whose limit of a partition is 0, that of the request, or both, MUST return at least one whole batch of
    the first partition that has any, so that a consumer goes on, and comes to the end of each of them.

    In every version; a partition that has none comes first.
    """
    topic = topic_of(partitions=(PARTITIONS + 1) * len(wire.nodes))
    empty, *some = wire.led_together(topic, PARTITIONS + 1)
    for index in some:
        for value in range(BATCHES):
            wire.produce(topic, batch(f"{index} {value}"), index).must_be_at(value)
    for version in (each for each in wire.versions("Fetch") if each >= LIMITS_SINCE):
        for limits in ((ZERO, PLENTY), (PLENTY, ZERO), (ZERO, ZERO)):
            with wire.part(f"v{version}, {limits[0]} bytes in all, {limits[1]} of each partition"):
                _read_to_the_end(wire, rng, version, limits, (topic, empty), [(topic, index) for index in some])


def _read_to_the_end(wire, rng, version, limits, empty, places):
    positions = dict.fromkeys(rng.sample(places, len(places)), 0)
    while any(at < BATCHES for at in positions.values()):
        left = [place for place, at in positions.items() if at < BATCHES]
        asked = {empty: 0} | {place: positions[place] for place in left}
        answer = wire.fetch_many(asked, version=version, max_bytes=limits[0], partition_max_bytes=limits[1])
        first = answer.of(*left[0]).must_reach(positions[left[0]])
        wanted = [f"{left[0][1]} {value}".encode() for value in range(positions[left[0]], BATCHES)]
        first.must(first.values == wanted[: len(first.values)], f"the records are {first.values}", "responses")
        positions[left[0]] += len(first.values)
