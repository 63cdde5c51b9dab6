"""A fetch session whose steps are drawn: what each answer names and holds is followed (KIP-227)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.fetch.sessions_in_use import Session
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

TURNS = 80


@case(
    "fetch/session-whatever-comes-next",
    guarantees=["fetch-009", "fetch-002", "fetch-005"],
    needs=["partitions"],
    apis={"Fetch": 7, "DeleteRecords": 0},
    detects=["Q11", "M37a"],
)
def every_step_returns_what_changed(wire, topic_of, rng):
    """Whatever a reader adds, moves and forgets, and whatever is written and deleted meanwhile, each step of a session
    MUST return exactly the partitions with records at the reader's position, with a new end or start, or with an error,
    each with all that lies behind the position.

    Two partitions of each of three topics, 80 drawn turns; a position that is not moved is read from again.
    """
    topics = [topic_of(partitions=2 * len(wire.nodes), what=what) for what in "tuv"]
    node = wire.leader(topics[0], 0)
    every = [(topic, number) for number in range(2 * len(wire.nodes)) for topic in topics]
    places = [place for place in every if wire.leader(*place) == node]
    logs: dict[tuple[str, int], list[str]] = {place: [] for place in places}
    starts = dict.fromkeys(places, 0)
    positions, reported = {places[0]: 0}, {places[0]: (0, 0)}
    session = Session(wire, positions)
    session.first.must_name(places[0])
    for turn in range(TURNS):
        place = rng.choice(places)
        step, end = rng.choice(("write", "write", "cut", "step", "step", "follow")), len(logs[place])
        if step == "write":
            wire.produce(place[0], batch(f"{turn}"), place[1]).must_be_at(end)
            logs[place].append(f"{turn}")
        elif step == "cut":
            starts[place] = rng.randint(starts[place], end)
            wire.delete_records(*place, offset=starts[place]).must_succeed()
        else:
            named, forgotten = _drawn(rng, places, positions, logs, follow=step == "follow")
            positions = {**{one: at for one, at in positions.items() if one not in forgotten}, **named}
            reported = {one: ends for one, ends in reported.items() if one in positions and one not in forgotten}
            answer = session.step(named, forget=forgotten, max_wait_ms=50)
            _must_return(answer, positions, reported, logs, starts)


def _drawn(rng, places, positions, logs, *, follow):
    """The positions that a step names, and the partitions that it forgets; never all of them."""
    if follow:
        return {one: len(logs[one]) for one in positions}, ()
    forgotten = tuple(one for one in list(positions)[1:] if rng.random() < 0.25)
    named = {one: rng.randint(0, len(logs[one]) + 1) for one in places if one not in forgotten and rng.random() < 0.4}
    return named, forgotten


def _must_return(answer, positions, reported, logs, starts):
    outside = {one for one, at in positions.items() if not starts[one] <= at <= len(logs[one])}
    ends = {one: (len(logs[one]), starts[one]) for one in positions}
    behind = {one: logs[one][at:] if one not in outside else [] for one, at in positions.items()}
    news = [one for one in positions if one not in outside and (behind[one] or reported.get(one) != ends[one])]
    answer.must_be_about(*{*news, *outside})
    for one in positions:
        if one in outside:
            answer.of(*one).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
            reported[one] = (-1, -1)
        elif one in news:
            row = answer.of(*one).must_hold(*behind[one])
            found = (row.high_watermark, row.log_start_offset)
            row.must(found == ends[one], f"its end and start are {found}; they must be {ends[one]}")
            reported[one] = ends[one]
