"""Fetches that wait while drawn things happen: what ends the wait, and what the answer holds then (KIP-74, KIP-98)."""

from typing import NamedTuple

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch
from brokertrial.wire import errors

LONG_MS, SHORT_MS = 20_000, 1_500
PLENTY, NEVER = 1 << 20, 1 << 28
TURNS = 24
LOG_START_SINCE, SESSIONS_SINCE = 5, 7
GONE = (errors.UNKNOWN_TOPIC_OR_PARTITION, errors.UNKNOWN_TOPIC_ID, errors.NOT_LEADER_OR_FOLLOWER)
STEPS = ("write", "write", "send", "send", "end", "cut")
WITHIN_S = 20


class Seen(NamedTuple):
    """One partition as a reader of some isolation level sees it."""

    end: int
    stable: int
    start: int
    batches: tuple[int, ...]
    """Where those begin that lie at its position or behind it."""
    size: int
    refused: bool


class WaitedLog:
    """One partition: its batches, of one record each, as (offset, size); what was aborted as (id, first, marker)."""

    def __init__(self, place):
        self.place, self.start, self.end, self.open = place, 0, 0, None
        self.batches, self.aborted, self.sent = [], [], set()

    def limit(self, committed):
        """Up to where a reader sees."""
        return self.end if self.open is None or not committed else self.open

    def seen(self, position, committed):
        """From the batch that holds the position on."""
        limit = self.limit(committed)
        held = [each for each in self.batches if position <= each[0] < limit]
        size, bases = sum(size for _, size in held), tuple(base for base, _ in held)
        return Seen(self.end, self.limit(True), self.start, bases, size, position < self.start)


@case(
    "fetch/waits-whatever-happens",
    guarantees=["fetch-004", "fetch-008", "fetch-005", "txn-002"],
    needs=["partitions"],
    apis={"Fetch": 4, "DeleteRecords": 0, "InitProducerId": 0, "EndTxn": 0},
    detects=["L14", "M37d", "F01", "F02"],
)
def a_wait_ends_when_there_is_enough(wire, topic_of, rng):
    """A fetch that waits MUST be answered when all its partitions together have its minimum bytes at its isolation
    level, and not before; when its wait time is over it MUST return whatever there is. The answer MUST show each
    partition as it is then: its ends, its start, its records, or that its position was deleted meanwhile.

    Six partitions of two topics, one transactional producer, 24 turns, in sessions and without. Positions, isolation,
    version, minimum bytes and what happens meanwhile are drawn: writing, a transaction that begins or ends, deletion.
    Then a topic is deleted under a reader.
    """
    logs = Waits(wire, topic_of, rng)
    for turn in range(TURNS):
        with wire.part(f"turn {turn}"):
            Waiting(logs, f"reader {turn}").goes_on(in_time=turn % 3 > 0)
    logs.must_end_with_the_topic()


class Waits:
    """The partitions of one node, and the steps that change them."""

    def __init__(self, wire, topic_of, rng):
        self.wire, self.rng, self.turns = wire, rng, 0
        self.topics = [topic_of(what=what, partitions=3 * len(wire.nodes)) for what in ("t", "u")]
        self.node = wire.leader(self.topics[0])
        self.logs = [
            WaitedLog((topic, number))
            for topic in self.topics
            for number in sorted(wire.known_partitions(topic))
            if wire.leader(topic, number) == self.node
        ]
        self.producer = wire.producer(wire.name("x"), timeout_ms=600_000)

    def step(self, what, logs):
        """One change, acknowledged; the answer to what brought it about."""
        log = self.rng.choice(logs)
        self.turns += 1
        value = f"{self.turns}".rjust(self.rng.choice((4, 40, 200)))
        if what == "end" and any(log.open is not None for log in self.logs):
            return self._ended()
        if what == "cut" and log.limit(True) > log.start:
            log.start = self.rng.randint(log.start, log.limit(True))
            return self.wire.delete_records(*log.place, offset=log.start).must_succeed()
        if what == "send":
            sent = self.producer.send(log.place[0], value, partition=log.place[1])
            log.sent.add(log.end)
            log.open = log.end if log.open is None else log.open
        else:
            sent = self.wire.produce(log.place[0], batch(value), log.place[1])
        self._grown(log, sent.must_be_at(log.end))
        return sent

    def _grown(self, log, cause):
        held = self.wire.fetch(*log.place, offset=log.end, max_wait_ms=0)
        held.must(len(held.batches) == 1, f"at {log.end} are {len(held.batches)} batches; it must be one")
        log.batches.append((log.end, len(held.raw)))
        log.end += 1
        return cause

    def _ended(self):
        mine, commit = [log for log in self.logs if log.open is not None], self.rng.random() < 0.5
        ended = (self.producer.commit() if commit else self.producer.abort()).must_succeed()
        for log in mine:
            self.wire.eventually(lambda log=log: self._must_be_stable(log), within=WITHIN_S)
            if not commit:
                log.aborted.append((self.producer.id, log.open, log.end))
            log.open = None
            self._grown(log, ended)
        return ended

    def _must_be_stable(self, log):
        self.wire.list_offsets(*log.place, isolation=COMMITTED).must_name(offset=log.end + 1)

    def must_end_with_the_topic(self):
        """The reader of a topic that is deleted is refused, and the other topic is answered as usual."""
        self.step("end", self.logs)
        positions = {log: log.end for log in (self.logs[0], self.logs[-1])}
        waiting = Waiting(self, "last reader")
        asked = waiting.ask(positions, LONG_MS, min_bytes=1, at=self.logs[-1].place)
        for log in positions:
            self.wire.list_offsets(*log.place).must_name(offset=log.end)
        gone = self.wire.delete_topic(self.topics[0]).must_succeed()
        asked.of(*self.logs[0].place).must_be_refused(*GONE)
        asked.of(*self.logs[-1].place).must_be_empty()
        self.wire.at_once(asked, after=gone, hidden_s=LONG_MS / 1_000)


class Waiting:
    """One reader: how it asks, and the answers that it must get."""

    def __init__(self, logs, name):
        self.logs, self.wire, self.rng, self.name = logs, logs.wire, logs.rng, name
        self.committed, self.version = self.rng.random() < 0.5, self.rng.choice(self.wire.versions("Fetch"))
        self.session, self.reported = 0, {}

    def ask(self, positions, wait_ms, *, min_bytes, at, epoch=-1):
        """Its request, which is under way when this returns."""
        isolation = COMMITTED if self.committed else UNCOMMITTED
        return self.wire.fetch_many(
            {log.place: position for log, position in positions.items()},
            at=at, isolation=isolation, max_wait_ms=wait_ms, min_bytes=min_bytes, partition_max_bytes=PLENTY,
            session_id=self.session, session_epoch=epoch, version=self.version, via=self.name, wait=False,
        )  # fmt: skip

    def goes_on(self, *, in_time):
        """It waits for a few bytes more than there are, which then come; or for more than ever come, until the end."""
        rng, logs = self.rng, self.logs.logs
        for _ in range(3):
            self.logs.step(rng.choice(STEPS[:5]), logs)
        named = rng.sample(logs, rng.randint(1, 4))
        self.positions = {log: self._position(log) for log in named}
        wanted = sum(one.size for one in self._now().values()) + (
            rng.choice((1, 70, 71, 150, 300)) if in_time else NEVER
        )
        wait_ms, began = LONG_MS if in_time else SHORT_MS, self.wire.now_ms()
        asked, now = self._asked(wait_ms, wanted), self._now()
        for log in named:
            self.wire.list_offsets(*log.place).must_name(offset=log.end)
        cause, before = None, now
        for what in self._steps(in_time):
            before = now
            cause = self.logs.step(what, rng.choice((named, logs)) if what != "cut" else self._cuttable(in_time))
            now = self._now()
            if sum(one.size for one in now.values()) >= wanted:
                break
            if any(one.refused for one in now.values()):
                break
        if not in_time and self.wire.now_ms() - began > SHORT_MS - 500:
            return  # it may have been over before the last step
        self._must_be_returned(asked, before, now, wanted if in_time else 0)
        if in_time:
            self.wire.at_once(asked, after=cause, hidden_s=LONG_MS / 1_000)
        elif not any(one.refused for one in now.values()):
            took = asked.took_ms
            asked.must(took > SHORT_MS - 100, f"it came back after {took:.0f} ms; it must wait for {SHORT_MS} ms")

    def _steps(self, in_time):
        """Some that are drawn; where it shall have enough, then all that it needs for it."""
        yield from (self.rng.choice(STEPS) for _ in range(self.rng.randint(1, 4)))
        while in_time:
            blocked = self.committed and all(log.open is not None for log in self.positions)
            yield "end" if blocked else "write"

    def _cuttable(self, in_time):
        """A reader that has its time may lose its position; one that shall get enough must not."""
        logs = self.logs.logs
        return [log for log in logs if log not in self.positions] if in_time else logs

    def _position(self, log):
        limit = log.limit(self.committed)
        return self.rng.choice((limit, limit, limit, self.rng.randint(log.start, limit)))

    def _now(self):
        return {log: log.seen(position, self.committed) for log, position in self.positions.items()}

    def _asked(self, wait_ms, wanted):
        """Without a session, or as the second step of one, whose first answer showed the present state."""
        at = next(iter(self.positions)).place
        if self.version < SESSIONS_SINCE or self.rng.random() < 0.5:
            return self.ask(self.positions, wait_ms, min_bytes=wanted, at=at)
        opening = self.ask(self.positions, 0, min_bytes=0, at=at, epoch=0)
        self.session = opening.session_id
        if not self.session:
            return self.ask(self.positions, wait_ms, min_bytes=wanted, at=at)
        self.reported = {log: (one.end, one.start) for log, one in self._now().items()}
        return self.ask({}, wait_ms, min_bytes=wanted, at=at, epoch=1)

    def _must_be_returned(self, answer, before, now, wanted):
        """Each as it was before or after the last change, and with as many bytes as were wanted."""
        answer.topic_names = names = {self.wire.topic_id(topic): topic for topic in self.logs.topics}
        rows = {
            (topic.topic or names.get(topic.topic_id), part.partition_index)
            for topic in answer.struct.responses
            for part in topic.partitions
        }
        size = 0
        for log, position in self.positions.items():
            seen = (before[log], now[log])
            if self._may_be_left_out(log, seen) and log.place not in rows:
                continue
            part = answer.of(*log.place)
            if now[log].refused:
                part.must_be_refused(errors.OFFSET_OUT_OF_RANGE)
                continue
            bases = tuple(each.header.base_offset for each in part.batches)
            returned = (part.high_watermark, part.last_stable_offset, bases)
            right = any(returned[0] == one.end for one in seen) and any(returned[1] == one.stable for one in seen)
            right = right and any(bases == one.batches for one in seen)
            part.must(
                right, f"end, stable offset and batches are {returned}; they must be those of one of {seen}", part.row
            )
            if answer.version >= LOG_START_SINCE:
                start = part.log_start_offset
                part.must(
                    start in {one.start for one in seen}, f"it begins at {start}; it must at {log.start}", part.row
                )
            self._must_name_aborted(part, log, position, bases)
            size += len(part.raw)
        answer.must(
            size >= wanted, f"it holds {size} bytes; {wanted} were wanted, for which it had to wait", "responses"
        )

    def _may_be_left_out(self, log, seen):
        """A session leaves out what has no records, no error and the same ends as before."""
        news = [one for one in seen if one.batches or one.refused or (one.end, one.start) != self.reported.get(log)]
        return bool(self.session) and len(news) < len(seen)

    def _must_name_aborted(self, part, log, position, bases):
        behind = {(who, first) for who, first, marker in log.aborted if self.committed and marker >= position}
        due = {
            (who, first)
            for who, first, marker in log.aborted
            if (who, first) in behind and any(first <= base < marker and base in log.sent for base in bases)
        }
        aborted = part.aborted
        right = due <= set(aborted) <= behind and len(set(aborted)) == len(aborted)
        part.must(right, f"the aborted transactions are {aborted}; they must be {due}, of {behind} at most", part.row)
