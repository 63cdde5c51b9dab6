"""Incremental fetch sessions (KIP-227): the broker remembers the reader's partitions and returns those that changed."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors


@case(
    "fetch/session-tells-changes",
    guarantee="fetch-009",
    needs=["partitions"],
    apis={"Fetch": 7, "DeleteRecords": 0},
    detects=[edit_answer("responses[]", drop=True, api="Fetch", skip=2)],
)
def a_session_returns_what_changed(wire, topic_of):
    """In a fetch session an answer MUST name the partitions with news, and leave out those without and those forgotten.

    News are records, and a log start or a high watermark that moved.
    """
    topic = topic_of(partitions=2 * len(wire.nodes))
    one, two = ((topic, partition) for partition in wire.led_together(topic, 2))
    for _, partition in (one, two):
        wire.produce(topic, batch("a"), partition).must_be_at(0)
    session = opened(wire, {one: 1, two: 1}).must_name(one, two).session_id

    def step(epoch, positions, forget=()):
        return wire.fetch_many(positions, forget=forget, at=one, session_id=session, session_epoch=epoch)

    step(1, {}).must_name()
    wire.produce(topic, batch("b"), two[1])
    step(2, {}).must_name(two).of(*two).must_hold("b")
    wire.delete_records(topic, one[1], offset=1).must_succeed()
    moved = step(3, {two: 2}).must_name(one).of(*one)
    moved.must(moved.log_start_offset == 1, f"the log start is {moved.log_start_offset}; it must be 1")
    for _, partition in (one, two):
        wire.produce(topic, batch("c"), partition)
    step(4, {}, forget=[two]).must_name(one).of(*one).must_hold("c")


@case(
    "fetch/session-refusals",
    guarantee="fetch-009",
    apis={"Fetch": 7},
    detects=[edit_answer("error_code", set=0, api="Fetch")],
)
def unknown_sessions_and_wrong_steps_are_refused(wire, topic):
    """A session id that is not known MUST be refused with 70, and a step out of turn with 71.

    A session that was closed is not known any more.
    """
    place = (topic, 0)
    session = opened(wire, {place: 0}).session_id

    wire.fetch_many({}, at=place, session_id=session, session_epoch=7).must_be_refused(
        errors.INVALID_FETCH_SESSION_EPOCH
    )
    wire.fetch_many({}, at=place, session_id=session ^ 0x2AAAAAAA, session_epoch=1).must_be_refused(
        errors.FETCH_SESSION_ID_NOT_FOUND
    )
    wire.fetch_many({}, at=place, session_id=session, session_epoch=1).must_name()
    wire.fetch_many({place: 0}, session_id=session, session_epoch=-1).must_name(place)
    wire.fetch_many({}, at=place, session_id=session, session_epoch=2).must_be_refused(
        errors.FETCH_SESSION_ID_NOT_FOUND
    )


@case(
    "fetch/nobody-starves",
    guarantee="fetch-007",
    needs=["partitions"],
    apis={"Fetch": 7},
    detects=[edit_answer("responses[].partitions[partition_index=0].records", set="", api="Fetch")],
)
def every_partition_of_a_session_gets_its_turn(wire, topic_of):
    """When the limit allows one partition in an answer, each partition of a session SHOULD get its turn.

    Four partitions with more data than fits; after eight answers each has been given some.
    """
    topic = topic_of(partitions=4 * len(wire.nodes))
    places = [(topic, partition) for partition in wire.led_together(topic, 4)]
    made = batch("x" * 1_000)
    for place in places:
        for pending in [wire.produce(topic, made, place[1], wait=False) for _ in range(9)]:
            pending.must_succeed()

    answer = opened(wire, dict.fromkeys(places, 0), max_bytes=1)
    session, position, hungry = answer.session_id, dict.fromkeys(places, 0), set(places)
    for epoch in range(1, 9):
        fed = {place: size for place, size in answer.sizes.items() if size}
        hungry -= fed.keys()
        for place in fed:
            position[place] = answer.of(*place).offsets[-1] + 1
        moved = {place: position[place] for place in fed}
        answer = wire.fetch_many(moved, at=places[0], session_id=session, session_epoch=epoch, max_bytes=1)
    answer.must(not hungry, f"after eight answers {sorted(hungry)} had nothing, though there was data all the time")


def opened(wire, positions, **limits):
    """The answer that opens a session of these partitions; a broker may keep none."""
    answer = wire.fetch_many(positions, session_epoch=0, **limits)
    if answer.session_id == 0:
        wire.not_applicable("the broker keeps no fetch sessions")
    return answer
