"""Followers that the suite plays: a leader hears of its followers only what a case says in their names.

The leader is cut off from the other brokers, which stay alive for the controllers. A follower that names no broker
epoch is taken at its word (Kafka: every Fetch before v15; KIP-903).
"""

from brokertrial.suites.cases.partition._open_request import OpenRequest
from brokertrial.suites.cases.partition._replicas import SURELY_KNOWN_S, produce_request, shown_by
from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch
from brokertrial.suites.probe.fetch import Fetched
from brokertrial.wire.messages import request

SOON_S, BESIDE_S, LONG_MS = 0.05, 0.005, 60_000
"""Answers that come too early are there soon: those of several in the time of the first."""
EPOCHS_SINCE, LAST_EPOCHS_SINCE = 9, 12


class Played:
    """One partition, in the block of `apart(nodes, leader, "brokers")`: its log, and how far each follower is said to
    be."""

    def __init__(self, wire, rng, topic, leader, followers, values):
        self.wire, self.rng, self.topic, self.leader = wire, rng, topic, leader
        self.values = [value.encode() for value in values]
        """By offset; None where a marker is."""
        self.at = dict.fromkeys(followers, len(self.values))
        self.ends = [len(self.values)]
        """Of batches: no follower is anywhere else."""
        self.visible = len(self.values)
        self.waiting = []
        """What waits for the followers: each request with where it begins and ends in the log."""
        self.transactions = {}
        """The offset of each one's first record, and of its marker."""

    @property
    def end(self):
        return len(self.values)

    @property
    def epoch(self):
        """The leader's; before Kafka 3.6 it rises where a follower is left out (KAFKA-15021)."""
        return shown_by(self.wire, self.topic, self.leader).leader_epoch

    def _news(self):
        made = [f"{self.end + number}" for number in range(self.rng.randint(1, 3))]
        self.values += [value.encode() for value in made]
        self.ends.append(self.end)
        return batch(*made)

    def write(self):
        """A batch that the leader acknowledges alone."""
        base = self.end
        self.wire.produce(self.topic, self._news(), acks=1, to=self.leader).must_be_at(base)

    def write_for_all(self):
        """A batch that waits for the followers."""
        base = self.end
        self._sent(produce_request(self.wire, self.topic, self._news(), LONG_MS), base)

    def mark(self, producer, began):
        """The end of the transaction that began there, as its coordinator sends it; whether it is committed."""
        base = self.transactions[began] = self.end
        self.values.append(None)
        self.ends.append(self.end)
        marker = {
            "producer_id": producer.id,
            "producer_epoch": producer.epoch,
            "transaction_result": self.rng.random() < 0.5,
            "topics": [{"name": self.topic, "partition_indexes": [0]}],
        }
        self._sent(request("WriteTxnMarkers", markers=[marker]), base, version=1)
        return marker["transaction_result"]

    def _sent(self, asked, base, version=None):
        name = f"all {len(self.waiting)}"
        self.waiting.append((OpenRequest(self.wire, self.leader, asked, name, version), base, self.end))
        self.wire.until(self._leader_has_all, within=WITHIN_S, what=f"node {self.leader} has the batch")
        self._waiting_must_fit()

    def _leader_has_all(self):
        """By what a follower gets, which says again what it has said."""
        follower, offset = next(iter(self.at.items()))
        got = self.said(follower, offset).batches
        return bool(got) and got[-1].header.last_offset == self.end - 1

    def said(self, follower, offset, *, version=None, **row):
        """One Fetch of a follower, which has everything below this offset; nothing is checked."""
        wire = self.wire
        version = self.rng.choice(wire.versions("Fetch")) if version is None else version
        part = {"partition": 0, "fetch_offset": offset, "log_start_offset": 0, "partition_max_bytes": 1 << 20, **row}
        asked = request(
            "Fetch",
            replica_id=follower,
            replica_state={"replica_id": follower, "replica_epoch": -1},
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            session_epoch=-1,
            topics=[{"topic": self.topic, "topic_id": wire.topic_id(self.topic), "partitions": [part]}],
        )
        return wire.ask_as(Fetched, asked, version=version, to=self.leader)

    def says(self, follower, offset):
        """A follower says how far it is, in any version: it gets the rest, and what is committed moves accordingly."""
        version = self.rng.choice(self.wire.versions("Fetch"))
        named = {"current_leader_epoch": self.epoch} if version >= EPOCHS_SINCE and self.rng.random() < 0.5 else {}
        answer = self.said(follower, offset, version=version, **named)
        self.at[follower], before = offset, self.visible
        self.visible = max(self.visible, min(self.end, *self.at.values()))
        got, rest = [record.value for record in answer.records if record.offset >= offset], self.held(offset, self.end)
        self.must(
            answer,
            got == rest,
            f"node {follower} has all below offset {offset} and gets {got}; what is left is {rest}",
        )
        self.must(
            answer,
            answer.high_watermark in (before, self.visible),
            f"its high watermark is {answer.high_watermark}; {self.so_far}, so it must be {self.visible}"
            + (f", or still {before}" if before < self.visible else ""),
        )
        self._waiting_must_fit()

    def says_something(self, follower):
        """From a little behind what it has said before on."""
        ends = self.ends[max(self.ends.index(self.at[follower]) - 1, 0) :]
        self.says(follower, self.rng.choice(ends))

    def held(self, begin, end):
        """The values of the records between two offsets."""
        return [value for value in self.values[begin:end] if value is not None]

    @property
    def stable(self):
        """The last stable offset."""
        undecided = [began for began, marker in self.transactions.items() if marker is None or marker >= self.visible]
        return min(self.visible, *undecided) if undecided else self.visible

    def all_say_the_end(self):
        """Each follower has everything."""
        for follower in self.rng.sample(list(self.at), len(self.at)):
            self.says(follower, self.end)

    @property
    def so_far(self):
        """For a person."""
        told = " and ".join(f"node {follower} is at {offset}" for follower, offset in self.at.items())
        ended = "".join(
            f", a transaction from {began} is {'open' if marker is None else f'ended at {marker}'}"
            for began, marker in self.transactions.items()
        )
        return f"{told}, and the log ends at {self.end}{ended}"

    def must(self, answer, holds, sentence):
        """A statement that is true only while all are in sync: a busy machine may take too long."""
        if not holds:
            self.wire.rest(SURELY_KNOWN_S)
            if not self.at.keys() <= {*shown_by(self.wire, self.topic, self.leader).isr_nodes}:
                self.wire.unclear("a follower was left out before it had its turn", "unobserved")
        answer.must(holds, sentence)

    def must_be_seen(self):
        """Consumers see what is committed, and no more, from wherever they read; so do those who ask for the end."""
        isolation = self.rng.choice((COMMITTED, UNCOMMITTED))
        offset, end = self.rng.randint(0, self.end), self.stable if isolation == COMMITTED else self.visible
        seen = self.wire.fetch(self.topic, offset=offset, isolation=isolation, max_wait_ms=0, to=self.leader)
        wanted = self.held(offset, end)
        found = [record.value for record in seen.records if record.offset >= offset]
        self.must(
            seen, found == wanted, f"it returns {found} from offset {offset}; {self.so_far}, so it must be {wanted}"
        )
        named = (seen.high_watermark, seen.last_stable_offset)
        self.must(
            seen,
            named == (self.visible, self.stable),
            f"its high watermark and last stable offset are {named}; {self.so_far}, so it must be "
            f"{(self.visible, self.stable)}",
        )
        ends = self.wire.list_offsets(self.topic, isolation=isolation)
        self.must(ends, ends.offset == end, f"the end is {ends.offset}; {self.so_far}, so it must be {end}")

    def _waiting_must_fit(self):
        soon_s = SOON_S
        for waiting, base, end in self.waiting:
            if waiting.over:
                continue
            due = end <= self.visible
            waiting.await_answer(WITHIN_S if due else soon_s)
            soon_s = soon_s if due else BESIDE_S
            if not due:
                self.must(
                    waiting.response if waiting.answered else self.wire,
                    not waiting.over,
                    f"{waiting.api} up to offset {end} is {waiting.said}; {self.so_far}",
                )
                continue
            self.wire.must(waiting.answered, f"{waiting.api} up to offset {end} has no answer; {self.so_far}")
            waiting.response.must(
                waiting.acknowledged, f"{waiting.api} up to offset {end} is {waiting.said}; {self.so_far}"
            )
            if waiting.api == "Produce":
                at = waiting.response.asked.answer.responses[0].partition_responses[0].base_offset
                waiting.response.must(at == base, f"acks=all is acknowledged at offset {at}; it is at {base}")
