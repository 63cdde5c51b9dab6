"""Fetch by topic id (v13): ids of no topic beside one of a topic, wherever a request names them (KIP-516, KIP-227)."""

from uuid import UUID

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

SINCE, NOT_IN_A_SESSION, BEGIN = 13, -1, 0


@case(
    "fetch/ids-of-no-topic-beside-one",
    guarantees=["fetch-009", "err-003"],
    apis={"Fetch": SINCE},
    detects=["K37"],
)
def what_is_known_is_read_beside_what_is_not(wire, topic, rng):
    """A Fetch that names an unknown topic id, or the zero id, MUST answer UNKNOWN_TOPIC_ID (100) for it and return the
    records of the others: alone, where it opens a session, and where it is added to one. Where a session forgets such
    an id there MUST be no error, and its next steps MUST go on.
    """
    wire.produce(topic, batch("a")).must_be_at(0)
    known = wire.topic_id(topic)
    for version in sorted({SINCE, max(wire.versions("Fetch"))}):
        for what, unknown in (("zeros", UUID(int=0)), ("no topic", UUID(int=rng.getrandbits(128) | 1))):
            with wire.part(f"v{version}, an id of {what}"):
                _must_read_on(IdReader(wire, topic, version), known, unknown)


def _must_read_on(reader, known, unknown):
    both = [(known, 0), (unknown, 0)]
    reader.fetch(both, epoch=NOT_IN_A_SESSION).must_give(known, unknown)
    reader.fetch(both, epoch=BEGIN).must_give(known, unknown)

    reader.fetch([(known, 0)], epoch=BEGIN).must_give(known)
    reader.fetch([], epoch=1, forget=[unknown]).must_give(known)
    reader.fetch([(unknown, 0)], epoch=2).must_give(known, unknown)
    reader.fetch([], epoch=3, forget=[unknown]).must_give(known)
    reader.fetch([], epoch=4).must_give(known)


class IdReader:
    """One reader of a topic's leader, which names topics by id alone; every answer gives the same record again."""

    def __init__(self, wire, topic, version):
        self.wire, self.topic, self.version, self.session = wire, topic, version, 0

    def fetch(self, wanted, *, epoch, forget=()):
        """The next turn, or a new beginning."""
        asked = request(
            "Fetch",
            replica_id=-1,
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=1 << 20,
            session_id=self.session if epoch > 0 else 0,
            session_epoch=epoch,
            topics=[
                {
                    "topic_id": topic_id,
                    "partitions": [{"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}],
                }
                for topic_id, offset in wanted
            ],
            forgotten_topics_data=[{"topic_id": topic_id, "partitions": [0]} for topic_id in forget],
        )
        self.answer = self.wire.ask(asked, to=self.wire.leader(self.topic), version=self.version)
        self.answer.must(self.answer.struct.error_code == 0, "the whole request is refused", "error_code")
        self.session = self.answer.struct.session_id
        return self

    def must_give(self, known, unknown=None):
        """The record of what is known, and that what is not known is not."""
        rows = [(row.topic_id, part) for row in self.answer.struct.responses for part in row.partitions]
        found = {topic_id: (part.error_code, bool(part.records)) for topic_id, part in rows}
        wanted = {known: (errors.NONE, True)}
        wanted |= {} if unknown is None else {unknown: (errors.UNKNOWN_TOPIC_ID, False)}
        said = {_name(topic_id, known): result for topic_id, result in found.items()}
        asked = {_name(topic_id, known): result for topic_id, result in wanted.items()}
        self.answer.must(said == asked, f"(error, records) are {said}; they must be {asked}", "responses")


def _name(topic_id, known):
    return "the topic" if topic_id == known else "no topic"
