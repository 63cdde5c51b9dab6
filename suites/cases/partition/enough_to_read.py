"""Consumers that wait for an amount of bytes at a leader that has records of which its followers do not know yet."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._played import Played
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.partition.played_followers import told_by_fetches
from brokertrial.suites.cases.replication._roles import all_in_sync, placed
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch
from brokertrial.suites.probe.apart import apart

ALONE = {"min.insync.replicas": "1"}
SHORT_MS, LONG_MS, ROUNDS = 700, 20_000, 8
"""The first is much less than the time after which a follower is left out."""
OLDEST = 4


@case(
    "partition/enough-of-what-is-replicated",
    guarantees=["fetch-004", "repl-004", "fetch-008"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "Fetch": 12, "ListOffsets": 1},
    detects=["B185"],
)
def only_what_may_be_read_is_enough(wire, nodes, rng):
    """A Fetch MUST wait for min_bytes of what may be read, up to max_wait_ms: records that not every replica in sync
    has yet are not counted, in whatever number they are there. It MUST be answered at once when they are replicated.

    Asked from where there is something to read, and too little, and from where there is nothing; each isolation,
    versions and limits as drawn.
    """
    leader, *followers = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, *followers], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("0", "1")).must_be_at(0)
    with apart(nodes, leader, "brokers"):
        played = Played(wire, rng, topic, leader, followers, ["0", "1"])
        told_by_fetches(wire, played)
        played.all_say_the_end()
        for _ in range(ROUNDS):
            for _ in range(rng.randint(2, 6)):
                played.write()
            _must_wait(wire, rng, played, rng.choice((0, rng.randint(0, played.visible - 1), played.visible)))
            _must_be_woken(wire, rng, played)
    all_in_sync(wire, topic)


def _must_wait(wire, rng, played, offset):
    """One byte more than there is to read."""
    size = len(_fetched(wire, rng, played, offset, max_wait_ms=0).raw)
    waited = _fetched(wire, rng, played, offset, max_wait_ms=SHORT_MS, min_bytes=size + 1)
    found, wanted = _values(waited, offset), played.held(offset, played.visible)
    said = f"from offset {offset} it returns {found}; {played.so_far}, so it must be {wanted}"
    played.must(waited, found == wanted, said)
    played.must(
        waited,
        waited.took_ms >= 0.9 * SHORT_MS,
        f"it is answered after {waited.took_ms:.0f} ms with {size} bytes from offset {offset}; it must wait for one "
        f"more, or {SHORT_MS} ms; {played.so_far}",
    )


def _must_be_woken(wire, rng, played):
    """The last follower has everything, too."""
    offset, end = rng.choice((0, played.visible)), played.end
    size = len(_fetched(wire, rng, played, offset, max_wait_ms=0).raw)
    waiting = _fetched(
        wire, rng, played, offset, max_wait_ms=LONG_MS, min_bytes=size + 1, via=f"waits {end}", wait=False
    )
    wire.list_offsets(played.topic).must_name(offset=played.visible)
    first, last = rng.sample(list(played.at), 2)
    played.says(first, end)
    cause = played.said(last, end)
    found, wanted = _values(waiting, offset), played.held(offset, end)
    played.must(waiting, found == wanted, f"it is woken with {found}; it must be {wanted}")
    wire.at_once(waiting, after=cause, hidden_s=LONG_MS / 1_000)
    played.says(last, end)


def _fetched(wire, rng, played, offset, **how):
    return wire.fetch(
        played.topic,
        offset=offset,
        isolation=rng.choice((COMMITTED, UNCOMMITTED)),
        max_bytes=rng.choice((1 << 20, 50 << 20)),
        version=rng.choice([each for each in wire.versions("Fetch") if each >= OLDEST]),
        to=played.leader,
        **how,
    )


def _values(answer, offset):
    return [record.value for record in answer.records if record.offset >= offset]
