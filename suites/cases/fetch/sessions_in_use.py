"""Fetch sessions that last: positions move back, records are deleted under them, several are open (KIP-227)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.fetch.sessions import opened
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.wire import errors

FETCH = {"Fetch": 7}
GONE = (errors.UNKNOWN_TOPIC_OR_PARTITION, errors.UNKNOWN_TOPIC_ID, errors.INCONSISTENT_TOPIC_ID)
RECORDS = "responses[].partitions[].records"


class Session:
    """Steps of one session, each in its turn."""

    def __init__(self, wire, positions, **settings):
        self.wire, self.at, self.settings, self.epoch = wire, next(iter(positions)), settings, 0
        self.names = {topic for topic, _ in positions}
        self.first = opened(wire, positions, **settings)
        self.id = self.first.session_id

    def step(self, positions=(), forget=(), **settings):
        """The next step: it names what is new, and waits no longer than it must."""
        self.epoch += 1
        self.names |= {topic for topic, _ in dict(positions)}
        answer = self.wire.fetch_many(
            dict(positions),
            forget=forget,
            at=self.at,
            session_id=self.id,
            session_epoch=self.epoch,
            **{"max_wait_ms": 200, **self.settings, **settings},
        )
        answer.topic_names = {self.wire.topic_id(name): name for name in self.names}
        return answer.must_have("session_id", self.id)


@case(
    "fetch/session-seeks-back",
    guarantees=["fetch-009", "fetch-002"],
    needs=["partitions"],
    apis=FETCH,
    detects=["Q11", edit_answer(RECORDS, set="", api="Fetch", skip=3)],
)
def a_session_follows_a_reader_that_goes_back(wire, topic_of):
    """In a fetch session the newest offset named for a partition MUST be the one that is read from, also when it is
    lower than the one before; the other partitions MUST stay where they were.
    """
    topic = topic_of(partitions=2 * len(wire.nodes))
    one, two = ((topic, partition) for partition in wire.led_together(topic, 2))
    for _, partition in (one, two):
        for value in ("a", "b", "c"):
            wire.produce(topic, batch(value), partition)
    session = Session(wire, {one: 0, two: 0})
    session.first.must_name(one, two)
    session.step({one: 3, two: 3}).must_name()
    session.step({one: 1}).must_name(one).of(*one).must_hold("b", "c")
    session.step({one: 3}).must_name()
    session.step({one: 0, two: 2}).must_name(one, two).of(*two).must_hold("c")
    session.step({one: 2, two: 3}).must_name(one).of(*one).must_hold("c")
    wire.produce(topic, batch("d"), one[1])
    session.step({one: 3}).must_name(one).of(*one).must_hold("d")


@case(
    "fetch/session-over-deleted-records",
    guarantees=["fetch-009", "fetch-005"],
    needs=["partitions"],
    apis={**FETCH, "DeleteRecords": 0},
    detects=["M37a", edit_answer("responses[].partitions[].error_code", set=0, api="Fetch")],
)
def a_session_reports_that_its_position_is_gone(wire, topic_of):
    """In a fetch session a position outside of the log MUST be refused with OFFSET_OUT_OF_RANGE (1) at each step until
    it is moved, and MUST NOT keep another partition from being read.
    """
    topic = topic_of(partitions=2 * len(wire.nodes))
    one, two = ((topic, partition) for partition in wire.led_together(topic, 2))
    for _, partition in (one, two):
        for value in ("a", "b", "c"):
            wire.produce(topic, batch(value), partition)
    session = Session(wire, {one: 0, two: 3})
    wire.delete_records(topic, one[1], offset=2).must_succeed()
    for turn in range(3):
        answer = session.step()
        answer.of(*one).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
        wire.produce(topic, batch(f"d{turn}"), two[1])
        after = session.step({two: 3 + turn})
        after.of(*one).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
        after.of(*two).must_hold(f"d{turn}")
    moved = session.step({one: 2, two: 6}).must_name(one).of(*one).must_hold("c")
    moved.must(moved.log_start_offset == 2, f"the log start is {moved.log_start_offset}; it must be 2")
    session.step({one: 9}).of(*one).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
    session.step({one: 3}).must_name(one).of(*one).must_be_empty()


@case(
    "fetch/three-sessions",
    guarantee="fetch-009",
    needs=["partitions"],
    apis=FETCH,
    detects=["N07", edit_answer(RECORDS, set="", api="Fetch", skip=4)],
)
def sessions_know_nothing_of_each_other(wire, topic_of):
    """Sessions of several readers MUST have ids of their own, and each its own positions, partitions and turn; the end
    of one MUST leave the others as they are, and a session that is replaced by a new one MUST be closed.
    """
    topic = topic_of(partitions=3 * len(wire.nodes))
    places = [(topic, partition) for partition in wire.led_together(topic, 3)]
    one, two, three = places
    for _, partition in places:
        for value in ("a", "b"):
            wire.produce(topic, batch(value), partition)
    first, second, third = Session(wire, {one: 0, two: 0}), Session(wire, {two: 1}), Session(wire, {three: 2, one: 2})
    ids = {first.id, second.id, third.id}
    wire.must(len(ids) == 3, f"three sessions have the ids {sorted(ids)}; each must have its own", first.first)
    first.step({one: 2, two: 2}).must_name()
    second.step({two: 2}).must_name()
    wire.produce(topic, batch("c"), two[1])
    second.step().must_name(two).of(*two).must_hold("c")
    third.step().must_name()
    first.step().must_name(two).of(*two).must_hold("c")
    wire.fetch_many({}, at=two, session_id=second.id, session_epoch=-1).must_succeed()
    wire.fetch_many({}, at=two, session_id=second.id, session_epoch=4).must_be_refused(
        errors.FETCH_SESSION_ID_NOT_FOUND
    )
    anew = wire.fetch_many({one: 0}, session_id=first.id, session_epoch=0).must_name(one)
    wire.must(anew.session_id not in ids, f"a session that begins anew has the old id {anew.session_id}", anew)
    wire.fetch_many({}, at=one, session_id=first.id, session_epoch=4).must_be_refused(errors.FETCH_SESSION_ID_NOT_FOUND)
    wire.fetch_many({}, at=one, session_id=third.id, session_epoch=9).must_be_refused(
        errors.INVALID_FETCH_SESSION_EPOCH
    )
    wire.produce(topic, batch("c"), three[1])
    third.step().must_name(three).of(*three).must_hold("c")


@case(
    "fetch/session-changes-its-partitions",
    guarantee="fetch-009",
    needs=["partitions"],
    apis=FETCH,
    detects=["N06", edit_answer("responses[]", drop=True, api="Fetch", skip=4)],
)
def partitions_come_and_go_in_a_session(wire, topic_of):
    """A partition that a session forgets MUST NOT be returned any more, and one that is added again MUST be read from
    the newly requested offset, in the order and with the limits of the newest step.
    """
    topic, other = topic_of(partitions=2 * len(wire.nodes)), topic_of(partitions=3 * len(wire.nodes), what="other")
    one, two = ((topic, partition) for partition in wire.led_together(topic, 2))
    node = wire.leader(*one)
    three = next((other, index) for index in sorted(wire.known_partitions(other)) if wire.leader(other, index) == node)
    for name, partition in (one, two, three):
        for value in ("a", "b"):
            wire.produce(name, batch(value), partition)
    session = Session(wire, {one: 2, two: 2})
    session.step({three: 0}).must_name(three).of(*three).must_hold("a", "b")
    session.step({three: 2}, forget=[one]).must_name()
    for name, partition in (one, two, three):
        wire.produce(name, batch("c"), partition)
    session.step().must_name(two, three)
    session.step({two: 3, three: 3}).must_name()
    session.step({one: 1}, forget=[two, three]).must_name(one).of(*one).must_hold("b", "c")
    wire.produce(topic, batch("d"), two[1])
    session.step({one: 3}).must_name()
    session.step({two: 0}).must_name(two).of(*two).must_hold("a", "b", "c", "d")


@case(
    "fetch/session-of-committed-records",
    guarantees=["fetch-009", "txn-004"],
    apis={**FETCH, "InitProducerId": 0, "EndTxn": 0},
    detects=["M17", edit_answer(RECORDS, set="", api="Fetch", skip=2)],
)
def a_committed_session_returns_what_became_stable(wire, topic, transactional_id):
    """In a session of a read_committed reader a partition MUST be returned when its last stable offset has moved,
    though nothing was written, and the returned records MUST lie below it.
    """
    producer, other = wire.producer(transactional_id), wire.producer(wire.name("x"))
    place = (topic, 0)
    producer.send(topic, "a").must_be_at(0)
    session = Session(wire, {place: 0}, isolation=COMMITTED)
    session.first.of(*place).must_be_empty()
    other.send(topic, "b").must_be_at(1)
    other.commit().must_succeed()
    quiet = session.step()
    quiet.must(not quiet.sizes.get(place), "records above the last stable offset are given", "responses")
    producer.abort().must_succeed()
    wire.await_settled(topic)
    part = session.step(max_wait_ms=5_000).must_name(place).of(*place)
    part.must(part.last_stable_offset == 4, f"the last stable offset is {part.last_stable_offset}; it must be 4")
    part.must(part.aborted == [(producer.id, 0)], f"the aborted transactions are {part.aborted}", "responses")
    part.must_hold("a", "b")
    session.step({place: 4}).must_name()


@case(
    "fetch/session-of-a-topic-made-again",
    guarantees=["fetch-009", "prot-018"],
    apis={"Fetch": 13, "DeleteTopics": 6, "CreateTopics": 5},
    detects=["M43", edit_answer("responses[].partitions[].error_code", set=0, api="Fetch")],
)
def a_session_does_not_pass_to_a_new_topic(wire, topic):
    """A session that names a topic by its id MUST NOT be given the records of one that was created again under its
    name; it is refused with UNKNOWN_TOPIC_ID (100) or INCONSISTENT_TOPIC_ID (103), and the new topic is read from its
    beginning in a new session.
    """
    wire.produce(topic, batch("old", "older"))
    old = wire.topic_id(topic)
    session = opened(wire, {(topic, 0): 0}, version=13).must_name((topic, 0)).session_id
    node = wire.leader(topic)
    wire.delete_topic(topic).must_succeed()
    wire.until(
        lambda: wire.create_topic(topic, assignments={0: [node]}, partitions=-1).error != errors.TOPIC_ALREADY_EXISTS,
        within=20,
        what="the name is free again",
    )
    wire.await_topic(topic)
    for value in ("new", "newer", "newest"):
        wire.produce(topic, batch(value)).must_succeed()
    wire.must(wire.topic_id(topic) != old, "the topic that was made again has the id of the one before")
    answer = wire.fetch_many({}, at=(topic, 0), session_id=session, session_epoch=1, version=13)
    given = [bytes(part.records or b"") for row in answer.struct.responses for part in row.partitions]
    codes = [part.error_code for row in answer.struct.responses for part in row.partitions] + [answer.error]
    answer.must(not any(given), "a session of the deleted topic is given records of the new one", "responses")
    answer.must(
        any(code in GONE for code in codes),
        f"the error codes are {codes}; one must say that the topic is gone (3, 100 or 103)",
        "responses",
    )
    anew = opened(wire, {(topic, 0): 0}, version=13).must_name((topic, 0))
    anew.of(topic, 0).must_hold("new", "newer", "newest")


@case(
    "fetch/session-in-another-version",
    guarantee="fetch-009",
    needs=["partitions"],
    apis={"Fetch": 13},
    detects=["S09"],
)
def a_session_keeps_to_names_or_to_ids(wire, topic_of):
    """A step of a session that names topics by id where the session was opened by name, or the reverse, MUST be refused
    as FETCH_SESSION_TOPIC_ID_ERROR (106), and the session MUST go on in its own turn.
    """
    topic = topic_of(partitions=2 * len(wire.nodes))
    one, two = ((topic, partition) for partition in wire.led_together(topic, 2))
    wire.produce(topic, batch("a"), one[1])
    newest = max(wire.versions("Fetch"))
    for own, other in ((12, newest), (newest, 12)):
        with wire.part(f"opened in v{own}"):
            session = Session(wire, {one: 0, two: 0}, version=own)
            odd = wire.fetch_many({one: 1}, session_id=session.id, session_epoch=1, version=other, max_wait_ms=200)
            odd.must_be_refused(errors.FETCH_SESSION_TOPIC_ID_ERROR)
            session.step({one: 1}).must_name()
