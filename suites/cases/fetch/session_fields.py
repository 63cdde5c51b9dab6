"""A fetch session in which each field of a partition changes: every step is answered by the newest (KIP-227, 320)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.fetch._drawn_logs import Log
from brokertrial.suites.cases.fetch.drawn import PLENTY, Row, refusal
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.fetch_many import FetchedMany
from brokertrial.wire import errors
from brokertrial.wire.messages import request

SESSIONS_SINCE, DIVERGING_SINCE = 7, 12
TURNS = 160
ONE_BATCH = 100
"""More bytes than a batch has here, and fewer than two."""
STEPS = (*["write"] * 3, "cut", *["step"] * 5, "follow")


class Place(Log):
    """One partition: all its records are of the present epoch, each a batch of its own."""

    def __init__(self, place):
        super().__init__(place)
        self.values = []

    def epochs(self, now):
        return [(now, self.start)]


@case(
    "fetch/session-every-field-changes",
    guarantees=["fetch-009", "fetch-002", "fetch-005", "fetch-011"],
    needs=["topic-settings", "partitions", "leaders", "terminate", "restart"],
    apis={"Fetch": 7, "DeleteRecords": 0, "Metadata": 7},
    detects=["L03", "L04", "Q11", "N06"],
)
def every_step_is_answered_by_its_newest_fields(wire, topic_of, rng, nodes):
    """In a session of whatever version a partition that is named again MUST be read by the fields of the newest step:
    its offset, the reader's present leader epoch, that of the last record it has, and its limit. Each step MUST return
    exactly the partitions that have changed, have data or are in error, and each error as long as it lasts.

    Four partitions and two sessions, one of an older version, 160 drawn turns, after a restart, so that there is an
    epoch of the past; some of what is named is wrong. One replica, so that no leader moves. A session that forgets all
    its partitions is over.
    """
    settings = {"min.insync.replicas": "1"}
    topic = topic_of(partitions=4 * len(wire.nodes), replicas=1, configs=settings)
    places = [Place((topic, partition)) for partition in wire.led_together(topic, 4)]
    nodes.stop_and_start(nodes.of(*places[0].place))
    wire.await_topic(topic)
    served = [version for version in wire.versions("Fetch") if version >= SESSIONS_SINCE]
    new, old = ([each for each in served if (each >= DIVERGING_SINCE) == late] for late in (True, False))
    sessions = [FieldSession(wire, rng, places, rng.choice(versions)) for versions in (new, old) if versions]
    for turn in range(TURNS):
        log, step = rng.choice(places), rng.choice(STEPS)
        if step == "write":
            wire.produce(*_on(log, f"{turn}")).must_be_at(log.end)
            log.values.append(f"{turn}")
            log.end += 1
        elif step == "cut":
            log.start = rng.randint(log.start, log.end)
            wire.delete_records(*log.place, offset=log.start).must_succeed()
        else:
            rng.choice(sessions).step(follow=step == "follow")
    for session in sessions:
        session.must_end_with_its_last()


def _present(wire, log):
    """The present leader epoch of the leader itself: the node that answers Metadata may be behind."""
    epoch = wire.leader_epoch(*log.place)
    wire.list_offsets(*log.place, leader_epoch=epoch).must_name(offset=log.end)
    return epoch


def _on(log, value):
    return log.place[0], batch(value), log.place[1]


class FieldSession:
    """What a reader asks for, and the last answer to it."""

    def __init__(self, wire, rng, places, version):
        self.wire, self.rng, self.places, self.version = wire, rng, places, version
        self.now = {log: wire.eventually(lambda log=log: _present(wire, log), within=20) for log in places}
        self.rows, self.reported = {}, {}
        self.id, self.epoch = 0, 0
        self._send({log: Row(log.place, 0, log=log) for log in places[:2]}, ())

    def step(self, *, follow):
        forgotten = () if follow else [log for log in list(self.rows)[1:] if self.rng.random() < 0.25]
        if follow:
            named = {log: self._row(log, log.end, -1, -1, PLENTY) for log in self.rows}
        else:
            free = [log for log in self.places if log not in forgotten]
            named = {log: self._drawn(log) for log in free if self.rng.random() < 0.45}
        self._send(named, forgotten)

    def _row(self, log, offset, epoch, last_epoch, limit):
        return Row(log.place, offset, log=log, epoch=epoch, last_epoch=last_epoch, limit=limit)

    def _drawn(self, log):
        """Fields that are new, each on its own: some stay as they were."""
        rng, now = self.rng, self.now[log]
        before = self.rows.get(log) or Row(log.place, 0, log=log)
        offset = rng.choice((before.offset, rng.randint(log.start, log.end), rng.randint(0, log.end + 1)))
        epoch = rng.choice((before.epoch, now, now, -1, -1, now + 1, max(now - 1, -1)))
        last_epoch = rng.choice((before.last_epoch, now, now, -1, -1, now + 1, max(now - 1, -1)))
        return self._row(log, offset, epoch, last_epoch, rng.choice((before.limit, PLENTY, ONE_BATCH)))

    def _send(self, named, forgotten):
        self.rows = {log: row for log, row in self.rows.items() if log not in forgotten} | named
        self.reported = {log: ends for log, ends in self.reported.items() if log in self.rows}
        answer = self._asked(named.values(), forgotten).must_have("error_code", 0)
        if not self.epoch:
            self.id = answer.struct.session_id or self.wire.not_applicable("the broker keeps no fetch sessions")
        self.epoch += 1
        answer.must_have("session_id", self.id)
        self._must_be_returned(answer)

    def _asked(self, rows, forgotten):
        topic, _ = self.places[0].place
        known = {"topic": topic, "topic_id": self.wire.topic_id(topic)}
        parts, gone = [row.as_asked() for row in rows], [log.place[1] for log in forgotten]
        asked = request(
            "Fetch",
            replica_id=-1,
            max_wait_ms=50,
            min_bytes=1,
            max_bytes=0x7FFFFFFF,
            session_id=self.id,
            session_epoch=self.epoch,
            topics=[{**known, "partitions": parts}] if parts else [],
            forgotten_topics_data=[{**known, "partitions": gone}] if gone else [],
        )
        to = self.wire.leader(*self.places[0].place)
        answer = self.wire.ask_as(FetchedMany, asked, version=self.version, to=to, may_take_s=0.05)
        answer.topic_names = {known["topic_id"]: topic}
        return answer

    def _must_be_returned(self, answer):
        due = {log: refusal(row, self.now[log], self.version) for log, row in self.rows.items()}
        news = []
        for log, (error, diverging) in due.items():
            ends = (log.end, log.start)
            if error or diverging or self._behind(log) or self.reported.get(log) != ends:
                news.append(log.place[1])
        named = sorted(part.partition_index for row in answer.struct.responses for part in row.partitions)
        answer.must(named == sorted(news), f"it names the partitions {named}; it must name {sorted(news)}", "responses")
        for log, (error, diverging) in due.items():
            if log.place[1] in named:
                self._must_hold(answer.of(*log.place), log, error, diverging)

    def _must_hold(self, part, log, error, diverging):
        if error:
            part.must_be_refused(error)
            self.reported[log] = (-1, -1)
            return
        part.must_hold(*(() if diverging else self._behind(log)))
        found = (part.high_watermark, part.log_start_offset)
        part.must(found == (log.end, log.start), f"its end and start are {found}; they must be {(log.end, log.start)}")
        if self.version >= DIVERGING_SINCE:
            returned = part.at(f"{part.row}.diverging_epoch")
            parted = (returned.epoch, returned.end_offset)
            part.must(parted == (diverging or (-1, -1)), f"its diverging epoch is {parted}; it must be {diverging}")
        self.reported[log] = (log.end, log.start)

    def _behind(self, log):
        row = self.rows[log]
        return log.values[row.offset :][: 1 if row.limit == ONE_BATCH else None]

    def must_end_with_its_last(self):
        """What forgets all is answered without a session, and the next step finds none."""
        answer = self._asked((), list(self.rows)).must_succeed()
        answer.must_have("session_id", 0).must_name()
        self.epoch += 1
        row = Row(self.places[0].place, 0, log=self.places[0])
        self._asked([row], ()).must_be_refused(errors.FETCH_SESSION_ID_NOT_FOUND)
