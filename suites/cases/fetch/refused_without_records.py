"""What a Fetch says of partitions that bring no records: no bytes, and never null (KAFKA-18646, KAFKA-18935)."""

from uuid import UUID

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch
from brokertrial.suites.probe.fetch_many import FetchedMany
from brokertrial.wire.messages import request

SESSIONS_SINCE, EPOCHS_SINCE, NO_SESSION, BEGIN = 7, 9, -1, 0
FAR, LATER_EPOCH, NO_SUCH = 1_000, 1_000, 10_000
END, START, BATCHES = 3, 2, 3
WRONG = ("before the log", "beyond the log", "of a later epoch")


@case(
    "fetch/no-records-are-no-bytes",
    guarantees=["fetch-004", "fetch-005", "fetch-011"],
    level="should",
    needs=["partitions"],
    apis={"Fetch": 4, "DeleteRecords": 0},
    detects=["B143"],
)
def what_brings_no_records_has_no_bytes(wire, topic_of, rng):
    """A partition for which a Fetch returns no records SHOULD come with records of length 0, not with null, in every
    version: one that is refused for its offset, its epoch, its topic or because the node does not lead it, as well as
    one at its end. Many clients cannot read an answer with null, though the protocol has it, and lose all that it
    holds.

    A partition of each kind beside one that has records, in a drawn order: alone, in a session that goes on, with
    either isolation, and asked of every node. Not one of zstd below v10: Apache Kafka 3.9 answers that with null.
    """
    reader = KindsOfPlaces(wire, topic_of, rng)
    for version in wire.versions("Fetch"):
        for isolation in (UNCOMMITTED, COMMITTED):
            with wire.part(f"v{version}, {isolation}"):
                reader.read(version, isolation)
                if version >= SESSIONS_SINCE:
                    reader.read_in_a_session(version, isolation)
        for node in wire.nodes:
            with wire.part(f"v{version}, asked of node {node}"):
                reader.must_have_no_null(reader.asked(version, UNCOMMITTED, to=node))


class KindsOfPlaces:
    """A topic with a partition for each thing that can be asked wrongly, and the questions."""

    def __init__(self, wire, topic_of, rng):
        self.wire, self.rng = wire, rng
        self.kinds = (*WRONG, "at the end", "held")
        self.topic = topic_of(partitions=len(self.kinds) * len(wire.nodes))
        numbers = wire.led_together(self.topic, len(self.kinds))
        self.places = dict(zip(self.kinds, numbers, strict=True))
        for number in numbers:
            for value in range(BATCHES):
                wire.produce(self.topic, batch(f"{value}"), number).must_be_at(value)
        wire.delete_records(self.topic, self.places["before the log"], offset=START).must_succeed()
        self.leader, self.id = wire.leader(self.topic, numbers[0]), wire.topic_id(self.topic)
        self.no_topic, self.no_id = wire.name("absent"), UUID(int=rng.getrandbits(128) | 1)

    def _rows(self):
        offsets = {"before the log": START - 1, "beyond the log": FAR, "at the end": END}
        for kind, number in self.places.items():
            epoch = LATER_EPOCH if kind == "of a later epoch" else -1
            yield _row(number, offsets.get(kind, 0), epoch)
        yield _row(NO_SUCH, 0, -1)

    def asked(self, version, isolation, *, to, session=0, epoch=NO_SESSION, step=False):
        """All places, or the next step of a session, which goes on with them."""
        rows = list(self._rows())
        topics = [
            {"topic": self.topic, "topic_id": self.id, "partitions": self.rng.sample(rows, len(rows))},
            {"topic": self.no_topic, "topic_id": self.no_id, "partitions": [_row(0, 0, -1)]},
        ]
        fetch = request(
            "Fetch",
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=int(isolation == COMMITTED),
            session_id=session,
            session_epoch=epoch,
            topics=[] if step else self.rng.sample(topics, len(topics)),
            forgotten_topics_data=[],
        )
        answer = self.wire.ask_as(FetchedMany, fetch, version=version, to=to)
        answer.topic_names = {self.id: self.topic}
        return answer

    def read(self, version, isolation):
        """One answer about all of them: each as it must be."""
        answer = self.asked(version, isolation, to=self.leader)
        self.must_have_no_null(answer)
        for kind, number in self.places.items():
            part = answer.of(self.topic, number)
            if kind in WRONG and (version >= EPOCHS_SINCE or "epoch" not in kind):
                part.must(bool(part.error), f"what is {kind} is not refused", f"{part.row}.error_code")
            elif kind == "held":
                part.must_hold(*(f"{value}" for value in range(BATCHES)))

    def read_in_a_session(self, version, isolation):
        """What is refused comes again with each step."""
        opened = self.asked(version, isolation, to=self.leader, epoch=BEGIN)
        self.must_have_no_null(opened)
        session = opened.struct.session_id
        for epoch in (1, 2) if session else ():
            step = self.asked(version, isolation, to=self.leader, session=session, epoch=epoch, step=True)
            self.must_have_no_null(step)

    def must_have_no_null(self, answer):
        for topic in answer.struct.responses:
            for part in topic.partitions:
                said = f"partition {part.partition_index} with error {part.error_code}"
                there = part.records is not None
                answer.must(there, f"the records of {said} are null; they must be empty", "responses")
                silent = not part.error_code or not part.records
                answer.must(silent, f"{said} has {len(part.records)} bytes of records; it must have none", "responses")


def _row(number, offset, epoch):
    return {
        "partition": number,
        "current_leader_epoch": epoch,
        "fetch_offset": offset,
        "partition_max_bytes": 1 << 20,
    }
