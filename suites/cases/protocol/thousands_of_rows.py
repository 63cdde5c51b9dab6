"""Requests of thousands of partitions or names: each of them is answered once, and as it would be alone."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ROWS, THERE, WITHIN_S = 2_000, 200, 30
NOT_THERE = (errors.UNKNOWN_TOPIC_OR_PARTITION, None)


@case(
    "protocol/thousands-of-partitions-in-a-request",
    guarantees=["err-008", "prod-007", "fetch-015"],
    apis={"ListOffsets": 4, "Fetch": 4, "DeleteRecords": 0},
    needs=["partitions"],
    detects=["B287"],
)
def each_partition_is_answered_as_if_alone(wire, topic_of, rng):
    """A request that names thousands of partitions MUST be answered for each of them once: where the partition is there
    it is served, however many others are named that are not (3).

    2,000 partitions, of which 200 are there, in a drawn order: Produce twice, Fetch, ListOffsets, OffsetForLeaderEpoch,
    DeleteRecords and ListOffsets.
    """
    topic = topic_of(partitions=THERE * len(wire.nodes), replicas=1)
    there = wire.led_together(topic, THERE)
    beyond = range(THERE * len(wire.nodes), THERE * len(wire.nodes) + ROWS - THERE)
    asks = Asks(wire, topic, rng.sample([*there, *beyond], ROWS), there)
    asks.produced(value="first", offset=0)
    asks.produced(value="second", offset=1)
    asks.fetched()
    asks.offsets(at=-1, offset=2)
    asks.ends_of_epochs(end=2)
    asks.deleted(before=1)
    asks.offsets(at=-2, offset=1)


class Asks:
    """One request of each kind, for all the partitions; what is there is led by one node."""

    def __init__(self, wire, topic, named, there):
        self.wire, self.topic, self.named, self.there = wire, topic, named, set(there)
        self.leader = wire.leader(topic, there[0])

    def produced(self, value, offset):
        made = batch(value)
        answer = self.wire.produce_all({(self.topic, partition): made for partition in self.named}, to=self.leader)
        self._must_be(answer, _rows(answer, "responses", "partition_responses", "index", "base_offset"), offset)

    def fetched(self):
        """What is returned is read as a reader reads it: from the first record on."""
        answer = self.wire.fetch_many(
            {(self.topic, partition): 0 for partition in self.named}, at=(self.topic, min(self.there))
        )
        self._must_be(answer, _rows(answer, "responses", "partitions", "partition_index", "high_watermark"), 2)
        for partition in sorted(self.there):
            answer.of(self.topic, partition).must_hold("first", "second")

    def offsets(self, at, offset):
        rows = [{"partition_index": partition, "timestamp": at} for partition in self.named]
        answer = self._asked("ListOffsets", replica_id=-1, topics=[{"name": self.topic, "partitions": rows}])
        self._must_be(answer, _rows(answer, "topics", "partitions", "partition_index", "offset"), offset)

    def ends_of_epochs(self, end):
        if not self.wire.versions("OffsetForLeaderEpoch"):
            return
        rows = [
            {"partition": each, "leader_epoch": self.wire.known_epoch(self.topic, each), "current_leader_epoch": -1}
            for each in self.named
        ]
        answer = self._asked("OffsetForLeaderEpoch", replica_id=-1, topics=[{"topic": self.topic, "partitions": rows}])
        self._must_be(answer, _rows(answer, "topics", "partitions", "partition", "end_offset"), end)

    def deleted(self, before):
        rows = [{"partition_index": partition, "offset": before} for partition in self.named]
        answer = self._asked("DeleteRecords", topics=[{"name": self.topic, "partitions": rows}], timeout_ms=20_000)
        self._must_be(answer, _rows(answer, "topics", "partitions", "partition_index", "low_watermark"), before)

    def _asked(self, api, **fields):
        return self.wire.ask(request(api, **fields), to=self.leader)

    def _must_be(self, answer, rows, value):
        answer.examined = True
        names = [number for number, _, _ in rows]
        lost = sorted(set(self.named) ^ set(names))
        answer.must(
            not lost and len(names) == len(self.named),
            f"it has {len(names)} rows for {len(self.named)} partitions; {len(lost)} are missing, or not asked for",
        )
        for number, error, found in rows:
            wanted = (errors.NONE, value) if number in self.there else NOT_THERE
            shown = (error, found if number in self.there else None)
            answer.must(
                shown == wanted,
                f"partition {number} is answered {errors.name(error)} with {found}; "
                f"it must be {errors.name(wanted[0])}" + (f" with {value}" if number in self.there else ""),
            )


def _rows(answer, topics, partitions, number, value):
    """(partition, error, value) of each row, as it came."""
    return [
        (getattr(row, number), row.error_code, getattr(row, value))
        for each in getattr(answer.struct, topics)
        for row in getattr(each, partitions)
    ]
