"""One Fetch of a follower about several partitions, in a session and without: the suite plays the follower."""

from uuid import UUID

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, SURELY_KNOWN_S, shown_by
from brokertrial.suites.cases.replication._roles import all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.suites.probe.fetch import Fetched
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
APIS = {"CreateTopics": 5, "Fetch": 13, "ListOffsets": 1}
BY_ID, ROUNDS = 13, 12
NO_REPLICA = (errors.NOT_LEADER_OR_FOLLOWER, errors.UNKNOWN_LEADER_EPOCH)


class PlayedPartitions:
    """Partitions with one leader and one follower, in the block of `apart(nodes, leader, "brokers")`."""

    def __init__(self, wire, rng, topics, leader, follower):
        self.wire, self.rng, self.leader, self.follower = wire, rng, leader, follower
        self.values = {topic: [b"0"] for topic in topics}
        self.at = dict.fromkeys(topics, 1)
        """From where on the follower has asked last; all below it is committed."""
        self.visible = dict.fromkeys(topics, 1)
        self.told = dict.fromkeys(topics, -1)
        """The high watermark that the follower's session was sent last."""
        self.session, self.epoch = 0, 0

    def write(self, topic):
        """A record that the leader acknowledges alone."""
        offset = len(self.values[topic])
        self.values[topic].append(str(offset).encode())
        self.wire.produce(topic, batch(str(offset)), acks=1, to=self.leader).must_be_at(offset)

    def row(self, topic, offset, **fields):
        """What a follower says of a partition: it has all below the offset."""
        part = {"partition": 0, "fetch_offset": offset, "log_start_offset": 0, "partition_max_bytes": 1 << 20, **fields}
        return {"topic_id": self.wire.topic_id(topic), "partitions": [part]}

    def asked(self, rows, **session):
        """A Fetch in the follower's name, which has no broker epoch (KIP-903)."""
        asked = request(
            "Fetch",
            replica_id=self.follower,
            replica_state={"replica_id": self.follower, "replica_epoch": -1},
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            topics=rows,
            **{"session_epoch": -1, **session},
        )
        version = self.rng.choice([each for each in self.wire.versions("Fetch") if each >= BY_ID])
        return self.wire.ask(asked, version=version, to=self.leader)

    def must_get(self, answer, part, topic, offset):
        """The records from there on, of those that the leader has."""
        found = [record.value for record in part.records if record.offset >= offset]
        wanted = self.values[topic][offset:]
        self.must(answer, found == wanted, f"from offset {offset} of {topic} it gets {found}; it must be {wanted}")

    def must_be_committed(self):
        """Each partition up to where its follower has asked last."""
        for topic in self.rng.sample(list(self.at), len(self.at)):
            end = self.wire.list_offsets(topic)
            self.must(
                end,
                end.offset == self.visible[topic],
                f"the end of {topic} is {end.offset}; the follower is at {self.at[topic]}, and it must be "
                f"{self.visible[topic]}",
            )

    def must(self, answer, holds, sentence):
        """A statement that is true only while the follower is in sync: a busy machine may take too long."""
        if not holds:
            self.wire.rest(SURELY_KNOWN_S)
            if any(self.follower not in shown_by(self.wire, each, self.leader).isr_nodes for each in self.at):
                self.wire.unclear("the follower was left out before it had its turn", "unobserved")
        answer.must(holds, sentence, "responses")


@case(
    "partition/answered-beside-what-is-refused",
    guarantees=["repl-004", "fetch-015"],
    needs=NEEDS,
    apis=APIS,
    detects=["B55"],
)
def each_partition_is_answered_by_itself(wire, nodes, rng):
    """Where a follower's Fetch names partitions that it cannot have, each of them MUST be refused by itself: one
    that it is no replica of (6, or 75), one that it names in an epoch to come (75), a topic that there is not (100).
    The others of the same request MUST be answered with their records, and their positions MUST count (KAFKA-5758).
    """
    leader, follower, stranger = rng.sample(wire.nodes, 3)
    topics = [_written(wire, what, [leader, follower]) for what in ("a", "b")]
    foreign, early = _written(wire, "c", [leader, stranger]), _written(wire, "d", [leader, follower])
    with apart(nodes, leader, "brokers"):
        played = PlayedPartitions(wire, rng, [*topics, early], leader, follower)
        for _ in range(ROUNDS // 2):
            for topic in played.at:
                played.write(topic)
            epoch = shown_by(wire, early, leader).leader_epoch + 1
            refused = {
                wire.topic_id(foreign): (played.row(foreign, 1), NO_REPLICA),
                wire.topic_id(early): (
                    played.row(early, len(played.values[early]), current_leader_epoch=epoch),
                    (errors.UNKNOWN_LEADER_EPOCH,),
                ),
            }
            absent = UUID(int=rng.getrandbits(128))
            refused[absent] = {**played.row(foreign, 0), "topic_id": absent}, (errors.UNKNOWN_TOPIC_ID,)
            named = rng.sample(list(refused), rng.randint(1, len(refused)))
            at = {topic: rng.choice((played.at[topic], len(played.values[topic]))) for topic in topics}
            rows = [*(refused[each][0] for each in named), *(played.row(topic, at[topic]) for topic in topics)]
            answer = played.asked(rng.sample(rows, len(rows)))
            _must_be_answered(played, answer, at, {each: refused[each][1] for each in named})
            played.must_be_committed()
        _all_at_the_end(played)
    for topic in played.at:
        all_in_sync(wire, topic)
        wire.read_all(topic).must_hold(*(value.decode() for value in played.values[topic]))


def _must_be_answered(played, answer, at, refused):
    answer.must(not answer.struct.error_code, "the whole answer is an error; only some of its partitions are")
    parts = _parts(answer)
    for topic_id, codes in refused.items():
        code = parts[topic_id].error if topic_id in parts else None
        said = "left out" if code is None else f"answered with {errors.name(code)}"
        names = " or ".join(map(errors.name, codes))
        played.must(answer, code in codes, f"a partition that must be refused with {names} is {said}")
    for topic, offset in at.items():
        part = parts.get(played.wire.topic_id(topic))
        said = "left out" if part is None else errors.name(part.error)
        played.must(answer, part is not None and not part.error, f"{topic} is {said}; it must be served")
        played.must_get(answer, part, topic, offset)
        played.at[topic], played.visible[topic] = offset, max(played.visible[topic], offset)


def _parts(answer):
    """What it says of each partition, by the topic's id."""
    answer.examined = True
    rows = answer.struct.responses
    return {row.topic_id: Fetched(answer.asked, f"responses[{n}].partitions[0]") for n, row in enumerate(rows)}


@case(
    "partition/sessions-of-followers",
    guarantees=["fetch-009", "repl-004"],
    needs=NEEDS,
    apis=APIS,
    detects=["B56"],
)
def a_session_remembers_where_each_partition_is(wire, nodes, rng):
    """In a session of a follower each Fetch MUST be answered with every partition that has records behind the position
    that the follower named last, in whichever request, or another high watermark than it was sent, and with no others;
    all positions MUST count, also those that a request does not name again (KIP-227).
    """
    leader, follower = rng.sample(wire.nodes, 2)
    topics = [_written(wire, what, [leader, follower]) for what in ("a", "b", "c")]
    with apart(nodes, leader, "brokers"):
        played = PlayedPartitions(wire, rng, topics, leader, follower)
        _next_in_session(played, topics)
        for _ in range(ROUNDS):
            for topic in rng.sample(topics, rng.randint(0, len(topics))):
                played.write(topic)
            _next_in_session(played, [topic for topic in topics if rng.random() < 0.6])
            played.must_be_committed()
        _next_in_session(played, topics)
        played.must_be_committed()
        _all_at_the_end(played)
    for topic in topics:
        all_in_sync(wire, topic)
        wire.read_all(topic).must_hold(*(value.decode() for value in played.values[topic]))


def _next_in_session(played, named):
    """The follower names some partitions, where it is at the end of the log or where it was."""
    before = dict(played.visible)
    for topic in named:
        played.at[topic] = played.rng.choice((played.at[topic], len(played.values[topic])))
    for topic in played.at:
        played.visible[topic] = max(played.visible[topic], played.at[topic])
    rows = [played.row(topic, played.at[topic]) for topic in named]
    answer = played.asked(rows, session_id=played.session, session_epoch=played.epoch).must_succeed()
    played.session, played.epoch = answer.struct.session_id, played.epoch + 1
    if not played.session:
        played.wire.unclear("the node opens no session for a follower", "unobserved")
    parts = _parts(answer)
    for topic, offset in played.at.items():
        part, mark = parts.get(played.wire.topic_id(topic)), played.told[topic]
        has_more = offset < len(played.values[topic])
        wanted = has_more or before[topic] != mark
        allowed = wanted or played.visible[topic] != mark
        sent = "sent" if part is not None else "not sent"
        played.must(
            answer,
            part is not None if wanted else part is None or allowed,
            f"{topic} is {sent}; the follower is at offset {offset}, the log ends at {len(played.values[topic])}, the "
            f"high watermark is {before[topic]}, and it was sent {mark}",
        )
        if part is None:
            continue
        played.must_get(answer, part, topic, offset)
        marks = (before[topic], played.visible[topic])
        found = part.high_watermark
        played.must(answer, found in marks, f"the high watermark of {topic} is {found}; it must be one of {marks}")
        played.told[topic] = found


def _written(wire, what, on):
    """A topic on these nodes, with one record."""
    topic = placed(wire, what, on, **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("0")).must_be_at(0)
    return topic


def _all_at_the_end(played):
    for topic, values in played.values.items():
        played.at[topic] = played.visible[topic] = len(values)
    rows = [played.row(topic, offset) for topic, offset in played.at.items()]
    played.asked(rows).must_succeed()
    played.must_be_committed()
