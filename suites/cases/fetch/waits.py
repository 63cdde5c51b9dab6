"""Fetches of several partitions that wait: whichever has news, or is in error, ends the wait (KIP-74, KIP-227)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.fetch_many import FetchedMany
from brokertrial.wire import errors
from brokertrial.wire.messages import request

WAIT_MS = 20_000
TURNS = 8


@case(
    "fetch/woken-by-any-of-several",
    guarantees=["fetch-004", "fetch-008"],
    needs=["partitions"],
    apis={"Fetch": 4},
    detects=["L14"],
)
def whichever_is_written_to_ends_the_wait(wire, topic_of, rng):
    """A fetch of several partitions that waits at their ends MUST be answered once any of them is written to, with what
    was written and nothing else; in whatever version, in a session or without one.

    Two topics, six partitions, eight turns; a turn writes to one that is drawn.
    """
    topics = [topic_of(what=what, partitions=3 * len(wire.nodes)) for what in ("t", "u")]
    node = wire.leader(topics[0])
    places = [
        (topic, n) for topic in topics for n in sorted(wire.known_partitions(topic)) if wire.leader(topic, n) == node
    ]
    ends = dict.fromkeys(places, 0)
    for turn in range(TURNS):
        named = rng.sample(places, rng.randint(2, len(places)))
        place, version = rng.choice(named), rng.choice(wire.versions("Fetch"))
        with wire.part(f"v{version}, turn {turn}"):
            positions = {each: ends[each] for each in named}
            waiting = wire.fetch_many(positions, max_wait_ms=WAIT_MS, version=version, via=f"reader {turn}", wait=False)
            wire.list_offsets(*place).must_name(offset=ends[place])
            written = wire.produce(place[0], batch(f"{turn}"), place[1]).must_be_at(ends[place])
            ends[place] += 1
            waiting.of(*place).must_hold(f"{turn}")
            for other in named:
                if other != place:
                    waiting.of(*other).must_be_empty()
            wire.at_once(waiting, after=written, hidden_s=WAIT_MS / 1_000)


@case(
    "fetch/error-ends-the-wait",
    guarantees=["fetch-008", "fetch-005"],
    level="should",
    needs=["partitions", "leaders"],
    apis={"Fetch": 12, "Metadata": 7},
    detects=["L15"],
)
def whoever_is_in_error_is_answered_at_once(wire, topic_of, rng):
    """A fetch SHOULD be answered at once when one of its partitions is in error or its log diverges from the reader's,
    though there is nothing to read: where the offset is outside of the log, or the leader epoch is not known yet.

    The other partitions, which are read at their ends, are answered as usual; the wrong one stands at a drawn place
    among them.
    """
    topic = topic_of(partitions=4 * len(wire.nodes))
    numbers = wire.led_together(topic, 4)
    for number in numbers:
        wire.produce(topic, batch("a", "b"), number).must_be_at(0)
    for what in ("offset", "epoch", "past", "offset", "epoch", "past"):
        odd = rng.choice(numbers)
        epoch = wire.leader_epoch(topic, odd)
        wrong = {
            "offset": {"fetch_offset": rng.choice((3, 50))},
            "epoch": {"fetch_offset": 2, "current_leader_epoch": epoch + rng.randint(1, 5)},
            "past": {"fetch_offset": 5, "last_fetched_epoch": epoch},
        }[what]
        with wire.part(what):
            order = rng.sample(numbers, 4)
            rows = [_row(number, wrong if number == odd else {"fetch_offset": 2}) for number in order]
            answer = _asked(wire, topic, rows)
            for number in numbers:
                if number != odd:
                    answer.of(topic, number).must_be_empty()
            part = answer.of(topic, odd)
            if what == "past":
                _must_diverge(part, epoch)
            else:
                part.must_be_refused(errors.OFFSET_OUT_OF_RANGE if what == "offset" else errors.UNKNOWN_LEADER_EPOCH)
            wire.at_once(answer, hidden_s=WAIT_MS / 1_000)


def _must_diverge(part, epoch):
    """What the reader is answered that must cut off what it has (FetchResponse.json, DivergingEpoch)."""
    diverging = part.at(f"{part.row}.diverging_epoch")
    found = (part.error, diverging.epoch, diverging.end_offset)
    part.must(
        found == (0, epoch, 2),
        f"a reader that has five records of epoch {epoch}, of which the log has two, is answered "
        f"{errors.name(found[0])} and the diverging epoch {found[1:]}; it must be NONE and {(epoch, 2)} (KIP-595)",
    )
    part.must_be_empty()


def _row(number, fields):
    return {"partition": number, "partition_max_bytes": 1 << 20, "current_leader_epoch": -1} | fields


def _asked(wire, topic, rows):
    known = {"topic": topic, "topic_id": wire.topic_id(topic)}
    topics = [{**known, "partitions": rows}]
    asked = request("Fetch", replica_id=-1, max_wait_ms=WAIT_MS, min_bytes=1, session_epoch=-1, topics=topics)
    asked.max_bytes = 1 << 20
    answer = wire.ask_as(FetchedMany, asked, to=wire.leader(topic, rows[0]["partition"]), may_take_s=WAIT_MS / 1_000)
    answer.topic_names = {known["topic_id"]: topic}
    return answer
