"""Readers of hundreds of partitions, of which an answer has room for a few."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.fetch.sessions_in_use import Session
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.failures import breaks

PARTITIONS, MOST, ROOM = 150, 3, 12


@case(
    "fetch/hundreds-in-turn",
    guarantees=["fetch-007", "fetch-015", "fetch-009"],
    apis={"Fetch": 7},
    needs=["partitions"],
    detects=["B293"],
)
def each_of_hundreds_has_its_turn(wire, topic_of, rng):
    """A reader of hundreds of partitions whose answers have room for a few of them MUST be given every record once and
    in order, with a session and without. In a session no partition SHOULD be given records a second time before each
    that has some was given a first time.

    150 partitions of one to three batches of one size; an answer has room for twelve.
    """
    topic = topic_of(partitions=PARTITIONS * len(wire.nodes), replicas=1)
    ends = {(topic, partition): rng.randint(1, MOST) for partition in wire.led_together(topic, PARTITIONS)}
    made = [batch(f"{number}" + "x" * 500) for number in range(MOST)]
    for answer in [
        wire.produce(*place[:1], made[number], place[1], wait=False)
        for place, end in ends.items()
        for number in range(end)
    ]:
        answer.must_succeed()
    reader = Reader(wire, ends, rng)
    with wire.part("without a session"):
        reader.read_alone(ROOM * len(made[0]))
    with wire.part("in a session"):
        reader.read_in_a_session(ROOM * len(made[0]))


class Reader:
    """Where it is, and what it was given."""

    def __init__(self, wire, ends, rng):
        self.wire, self.ends, self.rng = wire, ends, rng

    def read_alone(self, room):
        """Those that were served go to the back, as clients do."""
        at = dict.fromkeys(self.rng.sample(list(self.ends), PARTITIONS), 0)
        while at:
            answer = self.wire.fetch_many(at, max_bytes=room)
            served = self._taken(answer, at)
            at = {place: offset for place, offset in at.items() if place not in served} | {
                place: offset for place, offset in served.items() if offset < self.ends[place]
            }

    def read_in_a_session(self, room):
        """The answer that opens it moves nobody to the back; from then on who was served goes there."""
        at = dict.fromkeys(self.rng.sample(list(self.ends), PARTITIONS), 0)
        session = Session(self.wire, at, max_bytes=room)
        at |= (served := self._taken(session.first, at))
        had = set[tuple[str, int]]()
        while unread := {place for place, end in self.ends.items() if at[place] < end}:
            answer = session.step(served)
            served = self._taken(answer, at)
            early, waits = sorted(had & set(served)), sorted(unread - had - set(served))
            with breaks("fetch-007"):
                answer.must(
                    not (early and waits),
                    f"partition {_number(early)} is returned again before {_number(waits)}, which has records too",
                )
            had |= set(served)
            at |= served

    def _taken(self, answer, at):
        """The new positions of those that were served."""
        answer.must_succeed()
        served = {}
        for place, size in answer.sizes.items():
            if not size:
                continue
            part = answer.of(*place)
            begun = at[place]
            part.must(
                part.offsets[:1] == [begun] and part.offsets == list(range(begun, begun + len(part.offsets))),
                f"partition {place[1]} returns offsets {part.offsets}; the reader is at {begun}",
            )
            served[place] = begun + len(part.offsets)
        answer.must(bool(served), f"it returns no records, of {len(at)} partitions that have some", "responses")
        return served


def _number(places):
    return places[0][1] if places else -1
