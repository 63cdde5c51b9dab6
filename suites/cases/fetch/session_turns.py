"""The order in which a fetch session serves its partitions, while the limit allows one of them (KIP-227, KIP-74)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.fetch.sessions_in_use import Session
from brokertrial.suites.probe import batch

TURNS = 80
STEPS = (*["write"] * 3, *["step"] * 4, "come or go")


@case(
    "fetch/session-takes-turns",
    guarantees=["fetch-007", "fetch-009"],
    needs=["partitions"],
    apis={"Fetch": 7, "DeleteRecords": 0},
    detects=["F06", "P28"],
)
def only_what_was_given_records_goes_to_the_back(wire, topic_of, rng):
    """Where a step of a session has room for one partition, the one that has waited longest SHOULD be read. Only a
    partition whose records were returned, or that is added, goes to the back of the queue; one for which only a new end
    was returned does not (KAFKA-12330).

    Four partitions, 80 drawn turns; the reader moves on or reads the same again.
    """
    topic = topic_of(partitions=4 * len(wire.nodes))
    places = [(topic, partition) for partition in wire.led_together(topic, 4)]
    ends, positions = dict.fromkeys(places, 0), dict.fromkeys(places[:3], 0)
    queue, reported = list(positions), dict.fromkeys(positions, 0)
    session = Session(wire, positions, max_bytes=1, max_wait_ms=50)
    for turn in range(TURNS):
        place, step = rng.choice(places), rng.choice(STEPS)
        if step == "write":
            wire.produce(topic, batch(f"{turn}"), place[1]).must_be_at(ends[place])
            ends[place] += 1
            continue
        named, forgotten = {}, []
        if step == "come or go" and place not in positions:
            named = {place: ends[place]}
        elif step == "come or go" and len(queue) > 2:
            forgotten = [place]
        positions = {one: at for one, at in {**positions, **named}.items() if one not in forgotten}
        queue = [*(one for one in queue if one not in forgotten), *named]
        reported = {one: end for one, end in reported.items() if one in positions}
        answer = session.step(named, forget=forgotten)
        fed = next((one for one in queue if positions[one] < ends[one]), None)
        answer.must_name(*sorted(one for one in queue if one == fed or reported.get(one) != ends[one]))
        given = sorted(one for one, size in answer.sizes.items() if size)
        wanted = [] if fed is None else [fed]
        answer.must(given == wanted, f"it gives records of {given}; next in the queue is {wanted}", "responses")
        reported = {one: ends[one] for one in queue}
        if fed is not None:
            queue.remove(fed)
            queue.append(fed)
            if rng.random() < 0.7:
                positions[fed] += 1
                _must_follow(session, {fed: positions[fed]}, queue, positions, ends)


def _must_follow(session, moved, queue, positions, ends):
    """The step that says where the reader is now: nothing is new, so that it gives the next in the queue alone."""
    fed = next((one for one in queue if positions[one] < ends[one]), None)
    answer = session.step(moved)
    answer.must_name(*([] if fed is None else [fed]))
    if fed is not None:
        answer.must(answer.sizes[fed] > 0, f"next in the queue is {fed}, and it has no records", "responses")
        queue.remove(fed)
        queue.append(fed)
