"""Markers written by a client in the place of a coordinator: which a partition accepts, and what it knows after them.
"""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire import errors
from brokertrial.wire.messages import request

APIS = {"WriteTxnMarkers": 1, "AddPartitionsToTxn": 0, "EndTxn": 0, "DescribeProducers": 0, "InitProducerId": 0}
WITHIN_S, UNKNOWN, OLD_MS, LATER_MS = 20, 99, 20_000, 1 << 62
ROWS = "topics[0].partitions[0].active_producers"
STEPS = (*["send"] * 3, *["markers"] * 5, "again", "raise", *["open"] * 2, *["end"] * 2)


@case(
    "transactions/markers-by-hand",
    guarantees=["txn-030", "txn-004", "txn-006", "txn-026", "idem-002"],
    apis=APIS,
    needs=["started", "partitions"],
    detects=["T06"],
)
def a_partition_takes_the_markers_that_are_not_over(wire, topic_of, rng):
    """Each marker that one WriteTxnMarkers names MUST be judged separately in each partition: of an older producer
    epoch it is refused (47), of an older coordinator epoch too (52), for a partition that does not exist (3); any other
    takes one offset. A refused marker ends nothing. DescribeProducers MUST return for each producer the epochs of its
    newest marker and what it wrote since; a marker of the same epoch leaves its sequences as they are.

    Three producers without a transactional id, for which any marker is valid, and two with transactions, for which all
    markers are of a coordinator or an epoch that is over; three partitions of two topics, 60 drawn steps.
    """
    MarkedLogs(wire, topic_of, rng).follow(60)


@case(
    "transactions/markers-over-restarts",
    guarantees=["txn-030", "txn-004", "txn-026", "idem-007"],
    apis=APIS,
    needs=["started", "partitions", "kill", "terminate", "restart"],
    detects=["T05"],
)
def who_is_deposed_stays_so_over_restarts(wire, topic_of, rng, nodes):
    """WriteTxnMarkers MUST be judged in the same way where leaders are stopped cleanly or killed in between: an older
    producer epoch (47) and an older coordinator epoch (52) stay refused.
    """
    acts = {8: nodes.stop_and_start, 16: nodes.crash, 24: nodes.stop_and_start, 32: nodes.crash}
    MarkedLogs(wire, topic_of, rng).follow(40, acts, nodes)


class MarkedProducer:
    """What a partition must know of one producer; epochs of -1: nothing."""

    def __init__(self):
        self.epoch = self.sequence = self.began = -1
        self.coordinator: int | None = -1
        self.newest: int | None = -1
        self.again = None


class MarkedLogs:
    """The partitions, where they end, and what each knows of every producer."""

    def __init__(self, wire, topic_of, rng):
        self.wire, self.rng = wire, rng
        one, two = topic_of(partitions=2), topic_of(what="other")
        self.ends = {(one, 0): 0, (one, 1): 0, (two, 0): 0}
        self.values: dict[tuple[str, int], list[str]] = {place: [] for place in self.ends}
        self.plain = [wire.producer() for _ in range(3)]
        self.with_transactions = [wire.producer(wire.name("x"), timeout_ms=55_000) for _ in range(2)]
        self.known = {(place, each.id): MarkedProducer() for place in self.ends for each in self._all()}
        self.version = [each for each in wire.versions("WriteTxnMarkers") if each >= 1]
        self.epochs = {each.id: each.epoch for each in self.plain}
        self.open_since = {}

    def _all(self):
        return [*self.plain, *self.with_transactions]

    def follow(self, turns, acts=(), nodes=None):
        for each in self.with_transactions:  # so that a coordinator is known everywhere
            for place in self.ends:
                self._step_open(each, place)
            self._step_end(each, None)
        for turn in range(turns):
            for old in self.with_transactions:
                if self.wire.now_ms() > self.open_since.get(old.id, LATER_MS) + OLD_MS:
                    self._step_end(old, None)
            place, step = self.rng.choice(list(self.ends)), self.rng.choice(STEPS)
            pick = self.rng.choice(self.with_transactions if step in ("open", "end") else self.plain)
            getattr(self, f"_step_{step}")(pick, place)
            if turn in acts:
                acts[turn](nodes.of(place[0], place[1]))
                await_leaders(self.wire, of_all=True)
                for topic in dict.fromkeys(topic for topic, _ in self.ends):
                    self.wire.await_topic(topic)
                for each in self.ends:
                    self.wire.eventually(lambda each=each: self._must_be_described(each), within=WITHIN_S)
            self.wire.eventually(lambda place=place: self._must_be_described(place), within=WITHIN_S)
        for each in self.with_transactions:
            self._step_end(each, None)
        for place, values in self.values.items():
            self._must_be_described(place)
            self.wire.read_all(*place, isolation=COMMITTED).must_hold(*values)

    # what plain producers do

    def _step_send(self, one, place):
        entry = self.known[place, one.id]
        epoch = self.epochs[one.id] = max(self.epochs[one.id], entry.epoch)
        if epoch != entry.epoch:
            entry.epoch, entry.sequence = epoch, -1
        value, time = f"{self.ends[place]}", self.wire.now_ms()
        made = one.batch(value, sequence=entry.sequence + 1, epoch=epoch, timestamp=time)
        self.wire.produce(place[0], made, place[1]).must_be_at(self.ends[place])
        entry.sequence, entry.newest, entry.again = entry.sequence + 1, time, (made, self.ends[place])
        self.values[place].append(value)
        self.ends[place] += 1

    def _step_again(self, one, place):
        """The newest batch is known, whatever markers of its epoch came after it."""
        entry = self.known[place, one.id]
        if entry.again is not None:
            made, offset = entry.again
            self.wire.produce(place[0], made, place[1]).must_be_at(offset)

    def _step_raise(self, one, place):
        self.epochs[one.id] += 1
        self._step_send(one, place)

    # transactions

    def _step_open(self, one, place):
        """A batch in the transaction of this producer."""
        entry, value, time = self.known[place, one.id], f"{one.transactional_id} {self.ends[place]}", self.wire.now_ms()
        before = one.sequences.get(place, 0)
        self.open_since.setdefault(one.id, time)
        one.send(place[0], value, partition=place[1], timestamp=time).must_be_at(self.ends[place])
        entry.began = self.ends[place] if entry.began < 0 else entry.began
        entry.epoch, entry.sequence, entry.newest = one.epoch, before, time
        self.values[place].append(value)
        self.ends[place] += 1

    def _step_end(self, one, _):
        """Its coordinator commits: each of its partitions has one more marker, and knows that coordinator."""
        open_in = [place for place in self.ends if self.known[place, one.id].began >= 0]
        if not open_in:
            return
        before = one.epoch
        one.commit().must_succeed()
        self.open_since.pop(one.id)
        for place in open_in:
            entry = self.known[place, one.id]
            self.ends[place] += 1
            entry.began, entry.newest, entry.coordinator = -1, None, None
            if one.epoch != before:
                entry.epoch, entry.sequence = one.epoch, -1
            self.wire.eventually(lambda place=place: self._must_be_described(place), within=WITHIN_S)

    # markers

    def _step_markers(self, _, place):
        """One request to the leader of a partition: some producers, some partitions of that leader, and none at all."""
        wire, rng = self.wire, self.rng
        node = wire.leader(*place)
        led = [each for each in self.ends if wire.leader(*each) == node]
        wanted: dict[tuple[int, str, int], int] = {}
        markers = []
        for one in rng.sample(self._all(), rng.randint(1, 3)):
            places = rng.sample(led, rng.randint(1, len(led)))
            nowhere = (rng.choice(places)[0], UNKNOWN) if rng.random() < 0.3 else None
            epoch, coordinator = self._drawn(one, places)
            codes = {each: self._judged(one, each, epoch, coordinator) for each in places}
            codes |= {nowhere: errors.UNKNOWN_TOPIC_OR_PARTITION} if nowhere else {}
            asked = rng.sample(list(codes), len(codes))
            wanted |= {(one.id, *each): code for each, code in codes.items()}
            markers.append(self._marker(one, asked, epoch, coordinator))
        answer = wire.ask(request("WriteTxnMarkers", markers=markers), to=node, version=rng.choice(self.version))
        returned = {
            (row.producer_id, topic.name, part.partition_index): part.error_code
            for row in answer.struct.markers
            for topic in row.topics
            for part in topic.partitions
        }
        answer.must(returned == wanted, f"(producer, topic, partition): {returned}; it must be {wanted}", "markers")

    def _marker(self, one, places, epoch, coordinator):
        topics = dict.fromkeys(topic for topic, _ in places)
        return {
            "producer_id": one.id,
            "producer_epoch": epoch,
            "transaction_result": self.rng.random() < 0.5,
            "topics": [
                {"name": topic, "partition_indexes": [index for name, index in places if name == topic]}
                for topic in topics
            ],
            "coordinator_epoch": coordinator,
        }

    def _drawn(self, one, places):
        """Epochs around those that one of the partitions knows; of a transaction's producer one of them is over."""
        entry = self.known[self.rng.choice(places), one.id]
        if one in self.plain:
            epoch = max(0, entry.epoch + self.rng.choice((-1, 0, 0, 0, 1)))
            return epoch, max(-1, entry.coordinator + self.rng.choice((-1, 0, 1, 3)))
        entries = [self.known[each, one.id] for each in places]
        epoch = min(each.epoch for each in entries)
        coordinator = min(-1 if each.coordinator is None else each.coordinator for each in entries)
        deposed = (max(each.epoch for each in entries), coordinator - 1)
        return self.rng.choice(((epoch - 1, coordinator), deposed)) if epoch else deposed

    def _judged(self, one, place, epoch, coordinator):
        """The code of a marker; one that is taken is followed."""
        entry = self.known[place, one.id]
        if epoch < entry.epoch:
            return errors.INVALID_PRODUCER_EPOCH
        if coordinator < entry.coordinator:
            return errors.TRANSACTION_COORDINATOR_FENCED
        if epoch != entry.epoch:
            entry.epoch, entry.sequence, entry.again = epoch, -1, None
        entry.coordinator, entry.newest = coordinator, None
        self.ends[place] += 1
        return errors.NONE

    # what is described

    def _must_be_described(self, place):
        wire = self.wire
        wire.list_offsets(*place).must_name(offset=self.ends[place])
        begins = [entry.began for (where, _), entry in self.known.items() if where == place and entry.began >= 0]
        stable = min(begins, default=self.ends[place])
        wire.list_offsets(*place, isolation=COMMITTED).must_name(offset=stable)
        answer = wire.describe_producers(*place).must_succeed()
        rows = {row.producer_id: row for row in answer.at(ROWS)}
        for one in self._all():
            entry, row = self.known[place, one.id], rows.pop(one.id, None)
            if row is None:
                answer.must(entry.epoch < 0, f"producer {one.id} is left out, and has epoch {entry.epoch}", ROWS)
                continue
            if entry.coordinator is None:  # what a coordinator has just said
                answer.must(row.coordinator_epoch >= 0, f"its coordinator's epoch is {row.coordinator_epoch}", ROWS)
                entry.coordinator = row.coordinator_epoch
            found = (row.producer_epoch, row.last_sequence, row.coordinator_epoch, row.current_txn_start_offset)
            must = (entry.epoch, entry.sequence, entry.coordinator, entry.began)
            answer.must(
                found == must, f"producer {one.id}: epoch, sequence, coordinator, start {found}; must be {must}"
            )
            if entry.newest is None:  # a marker has the time at which it was written
                entry.newest = row.last_timestamp
            answer.must(
                row.last_timestamp == entry.newest,
                f"the newest time of producer {one.id} is {row.last_timestamp}; it must be {entry.newest}",
            )
        answer.must(not rows, f"it lists {sorted(rows)}, who wrote nothing here", ROWS)
