"""Fetch sessions that name what does not exist yet: it is returned as soon as it exists (KIP-227)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.fetch.sessions_in_use import Session
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

WITHIN_S = 20
BY_NAME = 12


class SessionInPart(Session):
    """A session that is opened although one of its partitions is answered with an error."""

    def __init__(self, wire, positions, **settings):
        self.wire, self.at, self.settings, self.epoch = wire, next(iter(positions)), settings, 0
        self.names = {topic for topic, _ in positions}
        self.first = wire.fetch_many(positions, session_epoch=0, **settings)
        self.id = self.first.struct.session_id
        if self.id == 0:
            wire.not_applicable("the broker keeps no fetch sessions")


@case(
    "fetch/session-of-what-is-to-come",
    guarantees=["fetch-009"],
    needs=["partitions"],
    apis={"Fetch": 7, "CreatePartitions": 0},
    detects=["S11"],
)
def a_session_holds_what_is_not_there_yet(wire, topic_of):
    """A partition that does not exist when a session opens, or when it is added, MUST be answered with
    UNKNOWN_TOPIC_OR_PARTITION (3) at each step, and with its records once it exists and was written to, without being
    named again.

    One topic grows; where the version names topics, another is created.
    """
    topic = topic_of()
    here, later = (topic, 0), (topic, 1)
    wire.produce(topic, batch("a"))
    opened, added = SessionInPart(wire, {here: 0, later: 0}), Session(wire, {here: 0})
    opened.first.of(*later).must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    opened.first.of(*here).must_hold("a")
    added.step({later: 0}).of(*later).must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    for session in (opened, added):
        step = session.step({here: 1})
        step.of(*later).must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    wire.create_partitions(topic, 2).must_succeed()
    wire.await_topic(topic)
    wire.produce(topic, batch("b"), 1).must_be_at(0)
    if wire.leader(topic, 0) != wire.leader(topic, 1):
        wire.not_applicable("another node leads the new partition: no session can hold both", "no-such-layout")
    for session in (opened, added):
        wire.eventually(lambda session=session: session.step().of(*later).must_hold("b"), within=WITHIN_S)
        step = session.step({later: 1})
        step.must_name()


@case(
    "fetch/session-of-a-topic-to-come",
    guarantees=["fetch-009"],
    apis={"Fetch": 7, "CreateTopics": 5},
    detects=["S11"],
)
def a_session_holds_a_topic_that_is_not_there_yet(wire, topic):
    """A session that names topics MUST hold one that does not exist when it opens: it is answered with
    UNKNOWN_TOPIC_OR_PARTITION (3) until the topic is created, and then with its records.
    """
    to_come = wire.name("later")
    version = min(BY_NAME, max(wire.versions("Fetch")))
    wire.produce(topic, batch("a"))
    session = SessionInPart(wire, {(topic, 0): 0, (to_come, 0): 0}, version=version)
    session.first.of(to_come).must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    session.step({(topic, 0): 1}).of(to_come).must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    wire.create_topic(to_come).must_succeed()
    wire.await_topic(to_come)
    wire.produce(to_come, batch("b")).must_be_at(0)
    if wire.leader(topic) != wire.leader(to_come):
        wire.not_applicable("another node leads the new topic: no session can hold both", "no-such-layout")
    wire.eventually(lambda: session.step().of(to_come).must_hold("b"), within=WITHIN_S)
    session.step({(to_come, 0): 1}).must_name()
