"""Fetch sessions at any node, and what each step of them must return: exactly what changed since the one before."""

from brokertrial.suites.cases.fetch.drawn import PLENTY, REFUSED, Row, _must_name_aborted
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.fetch_many import FetchedMany
from brokertrial.wire import errors
from brokertrial.wire.messages import request

EPOCHS_SINCE, FOLLOWED_SINCE, LAST_EPOCHS_SINCE, BY_ID_SINCE, HINTS_SINCE = 9, 11, 12, 13, 16
GONE = (errors.UNKNOWN_TOPIC_OR_PARTITION, errors.UNKNOWN_TOPIC_ID, errors.INCONSISTENT_TOPIC_ID)
MOVED = (errors.NOT_LEADER_OR_FOLLOWER, errors.FENCED_LEADER_EPOCH)
OUTSIDE = (errors.OFFSET_OUT_OF_RANGE,)
UNSAID, IN_ERROR = (-1, -1), (-1, -1)
WAIT_MS, LONG_MS = 5_000, 50_000


class NodeSession:
    """A session at one node; `by_id` says how it names topics, which no step may change."""

    def __init__(self, among, node, by_id, via):
        self.among, self.wire, self.rng = among, among.wire, among.rng
        self.node, self.by_id, self.via = node, by_id, via
        self.id = self.epoch = 0
        self.rows, self.reported, self.ids = {}, {}, {}
        """By place: what is asked for, and the end and start that were returned last."""
        self.opens()

    @property
    def versions(self):
        """In which it may be gone on with."""
        served = [each for each in self.wire.versions("Fetch") if each >= 7]
        return [each for each in served if (each >= BY_ID_SINCE) == self.by_id]

    # steps

    def opens(self):
        """A full request, in the place of the session that there was."""
        self.rows, self.reported, self.epoch = {}, {}, 0
        self.ids = {topic: self.wire.topic_id(topic) for topic in self.among.placed}
        logs = self.rng.sample(self.among.there(), self.rng.randint(3, 6))
        version = self.rng.choice(self.versions)
        self.rows = {log.place: self._drawn(log, version) for log in logs}
        self._await_ends()
        answer = self._asked(version, self.rows.values(), ())
        self.id = answer.struct.session_id or self.wire.not_applicable("the broker keeps no fetch sessions")
        self._must_be(answer, self._committed)
        self.epoch = 1

    def step(self, *, follow=False, named=None, forgotten=(), version=None):
        """A drawn one, or one of a reader that has read all; every replica knows all that there is. What has something
        to return does not wait."""
        version = self.rng.choice(self.versions) if version is None else version
        named, forgotten = self._named(version, follow) if named is None else (named, forgotten)
        self._await_ends(named)
        rows = {place: row for place, row in self.rows.items() if place not in forgotten} | named
        hurries = any(self._hurries(row, self._due(row, version)) for row in rows.values())
        wait_ms = self.rng.choice((0, WAIT_MS)) if hurries else 0
        answer = self._sent(version, named, forgotten, max_wait_ms=wait_ms)
        self._must_be(answer, self._committed)
        if wait_ms:
            with breaks("fetch-008"):
                self.wire.at_once(answer, hidden_s=WAIT_MS / 1_000)

    def _hurries(self, row, due):
        """What is said of a topic that is gone may wait with the rest of the answer."""
        return (bool(due) and due[0] not in GONE) or (not due and bool(self._behind(row, True)))

    def loose_step(self, log=None):
        """One while it is open what a replica knows already; a record of `log` is under way."""
        answer = self._sent(self.rng.choice(self.versions), {}, [])
        self._may_be(answer, log)

    def waits(self):
        """A reader that has read all is woken by the first batch of a partition, and by nothing else."""
        version = self.has_read_all()
        served = [row.log for row in self.rows.values() if not row.log.open]
        if not version or not served:
            return
        log = self.rng.choice(served)
        waiting = self._begins_to_wait(version, WAIT_MS)
        self.wire.list_offsets(*log.place).must_name(offset=log.end)
        written = self.among.write(log)
        if log.leader == self.node:
            self._must_be(waiting, self._committed)
        else:
            self._may_be(waiting, log)  # it may be woken when the record is there, and is not known to be committed
        with breaks("fetch-008"):
            self.wire.at_once(waiting, after=written, hidden_s=WAIT_MS / 1_000)
        self.step()

    def _begins_to_wait(self, version, wait_ms):
        """Kafka answers at once, with nothing, who asks for committed records from beyond the stable offset
        (DelayedFetch, case F): such a reader waits for all records."""
        stable = all(row.log.stable == row.log.end for row in self.rows.values())
        return self._sent(version, {}, [], max_wait_ms=wait_ms, wait=False, committed=None if stable else False)

    def has_read_all(self):
        """Of what it can read here, and the rest is forgotten. Returns a version to wait in, or 0 where nothing is."""
        version = max(self.versions)
        here = [log for log in self.among.there() if self.node in log.replicas]
        if version < FOLLOWED_SINCE:
            here = [log for log in here if log.leader == self.node]
        logs = [row.log for row in self.rows.values() if row.log in here]
        if not logs:
            return 0
        forgotten = [place for place, row in self.rows.items() if row.log not in logs]
        self.step(
            named={log.place: self._row(log, log.end, version) for log in logs}, forgotten=forgotten, version=version
        )
        self.step(named={}, version=version)
        return version

    @breaks("fetch-011")
    def is_deposed(self, log, moves):
        """A reader that waits in the epoch of the leader is answered when that is over."""
        version = self.has_read_all()
        if not version or log.place not in self.rows or self.rows[log.place].epoch < 0:
            moves()
            return
        waiting = self._begins_to_wait(version, LONG_MS)
        self.wire.list_offsets(*log.place).must_name(offset=log.end)
        moves()
        with breaks("fetch-008"):
            self.wire.must(waiting.took_ms < LONG_MS, f"it took {waiting.took_ms:.0f} ms, all of its wait", waiting)
        waiting.must_have("error_code", 0).must_be_about(log.place).of(*log.place).must_be_refused(*MOVED)
        self.reported[log.place] = IN_ERROR

    def wrong_steps(self):
        """Out of turn, of no session, at another node, and in versions of the other kind: the session is as it was."""
        version, first = self.rng.choice(self.versions), next(iter(self.rows.values()))
        out = self.epoch + self.rng.choice((1, 7, -1 if self.epoch > 2 else 2))
        self._wrong(version, [first], errors.INVALID_FETCH_SESSION_EPOCH, epoch=out)
        self._wrong(version, [first], errors.FETCH_SESSION_ID_NOT_FOUND, id=self.id ^ 0x2AAAAAAA)
        others = [one for one in self.among.alive if one != self.node and not self.among.is_session(one, self.id)]
        if others:
            self._wrong(version, [first], errors.FETCH_SESSION_ID_NOT_FOUND, node=self.rng.choice(others))
        other = [each for each in self.wire.versions("Fetch") if each >= 7 and (each >= BY_ID_SINCE) != self.by_id]
        if other:
            self._wrong(self.rng.choice(other), [first], errors.FETCH_SESSION_TOPIC_ID_ERROR)

    def closes(self):
        """A full request that ends it; it is known no more."""
        version = self.rng.choice(self.versions)
        log, self.reported, self.epoch = next(iter(self.rows.values())).log, {}, -1
        rows = [self._drawn(log, version)]
        self.rows = {log.place: rows[0]}
        self._await_ends()
        answer = self._asked(version, rows, ()).must_have("session_id", 0)
        self._must_be(answer, self._committed)
        self._wrong(version, rows, errors.FETCH_SESSION_ID_NOT_FOUND, epoch=1)
        self.id = 0
        self.opens()

    def must_be_unknown(self):
        """As after its node was away."""
        row = next(iter(self.rows.values()))
        self._wrong(self.versions[-1], [row], errors.FETCH_SESSION_ID_NOT_FOUND)
        self.id = 0
        self.opens()

    def passes_on(self):
        """Of a topic that was made again: by its name it is read in its place, by its id there was another."""
        anew = [place for place, row in self.rows.items() if row.log is not self.among.logs[place]]
        version = self.rng.choice(self.versions)
        if not self.by_id:
            named = {}
            for place in anew:
                row = self.rows[place]
                row.log = self.among.logs[place]
                if row.last_epoch >= 0 or self.rng.random() < 0.3:
                    named[place] = self._drawn(row.log, version)
            self.step(named=named, version=version)
        elif len(anew) == len(self.rows):
            self.opens()
        else:
            self._await_ends()
            self._must_be(self._sent(version, {}, anew), self._committed)
            self.ids = {topic: self.wire.topic_id(topic) for topic in self.among.placed}
        self.step()

    # requests

    def _named(self, version, follow):
        logs = self.among.there()
        if follow:
            return {
                row.place: self._row(row.log, row.log.end, version) for row in self.rows.values() if row.log in logs
            }, []
        forgotten = [place for place in list(self.rows)[1:] if self.rng.random() < 0.2]
        drawn = [log for log in logs if log.place not in forgotten and self.rng.random() < 0.3]
        return {log.place: self._drawn(log, version) for log in drawn}, forgotten

    def _drawn(self, log, version):
        drawn = (log.start, log.end, log.end, self.rng.randint(log.start, log.end), self.rng.randint(0, log.end + 1))
        wrong = (log.now + 1, max(log.now - 1, -1))
        return self._row(log, self.rng.choice(drawn), version, self.rng.choice((*[-1] * 3, *[log.now] * 6, *wrong)))

    def _row(self, log, offset, version, epoch=None):
        """Fields that the version has not are not remembered; that of an empty log may be forgotten."""
        epoch = log.now if epoch is None else epoch
        last = self.rng.choice((-1, log.epoch_before(offset))) if log.start <= offset <= log.end > log.start else -1
        return Row(
            log.place,
            offset,
            log=log,
            epoch=epoch if version >= EPOCHS_SINCE else -1,
            last_epoch=last if version >= LAST_EPOCHS_SINCE else -1,
            limit=PLENTY,
        )

    def _sent(self, version, named, forgotten, **how):
        self.rows = {place: row for place, row in self.rows.items() if place not in forgotten} | named
        self.reported = {place: ends for place, ends in self.reported.items() if place in self.rows}
        answer = self._asked(version, named.values(), forgotten, **how)
        self.epoch += 1
        return answer

    def _asked(
        self, version, rows, forgotten, *, wait=True, max_wait_ms=0, committed=None, node=None, id=None, epoch=None
    ):
        def known(topic):
            return {"topic": topic, "topic_id": self.ids[topic]}

        self._committed = self.rng.random() < 0.5 if committed is None else committed
        asked = request(
            "Fetch",
            replica_id=-1,
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=0x7FFFFFFF,
            isolation_level=int(self._committed),
            session_id=self.id if id is None else id,
            session_epoch=self.epoch if epoch is None else epoch,
            rack_id=self.rng.choice(("", "rack of none")),
            topics=[{**known(row.place[0]), "partitions": [row.as_asked()]} for row in rows],
            forgotten_topics_data=[{**known(topic), "partitions": [index]} for topic, index in forgotten],
        )
        answer = self.wire.ask_as(
            FetchedMany,
            asked,
            version=version,
            to=self.node if node is None else node,
            via=self.via,
            wait=wait,
            may_take_s=max_wait_ms / 1_000,
        )
        answer.topic_names = {topic_id: name for name, topic_id in self.ids.items()}
        return answer

    @breaks("fetch-009")
    def _wrong(self, version, rows, code, **how):
        answer = self._asked(version, rows, (), **how)
        answer.must_have("error_code", code).must_have("responses", [])

    def _await_ends(self, named=()):
        for row in {**self.rows, **dict(named)}.values():
            self.among.await_known(row.log, self.node)

    # what must be returned

    def _due(self, row, version):
        """The errors of which one is due; none where it is served."""
        log = row.log
        if log is not self.among.logs[row.place] or log.gone:
            return GONE if self.by_id else GONE[:1]
        if self.node not in log.replicas:
            return MOVED[:1]
        wrong: tuple[int, ...] = ()
        if row.epoch >= 0 and row.epoch != log.now:
            wrong = (errors.FENCED_LEADER_EPOCH if row.epoch < log.now else errors.UNKNOWN_LEADER_EPOCH,)
        if self.node != log.leader and version < FOLLOWED_SINCE:
            return (*wrong, errors.NOT_LEADER_OR_FOLLOWER)
        if wrong or log.start <= row.offset <= log.end:
            return wrong
        return OUTSIDE

    def _behind(self, row, committed):
        """The batches that a reader has not."""
        log = row.log
        return [held for held in log.batches if held.last >= row.offset and held.base < log.readable(committed)]

    @breaks("fetch-009")
    def _must_be(self, answer, committed):
        answer.must_have("error_code", 0)
        if self.epoch > 0:
            answer.must_have("session_id", self.id)
        due = {place: self._due(row, answer.version) for place, row in self.rows.items()}
        news = [place for place, row in self.rows.items() if due[place] or self._is_news(row, committed)]
        answer.must_be_about(*news)
        for place in news:
            part, log = answer.of(*place), self.rows[place].log
            with breaks(*([] if due[place] else ["fetch-009"]), REFUSED.get((*due[place], part.error)[0], "fetch-009")):
                _ = part.must_be_refused(*due[place]) if due[place] else part.must_succeed()
            if due[place]:
                self._must_be_nothing(part)
                self.reported[place] = IN_ERROR
            else:
                self._must_hold(part, self.rows[place], committed, self._behind(self.rows[place], committed))
                self.reported[place] = (log.end, log.start)
        self._must_name_leaders(answer, {place: answer.of(*place) for place in news})

    def _must_be_nothing(self, part):
        row = part.at(part.row)
        found = (row.high_watermark, row.last_stable_offset, row.log_start_offset, bytes(row.records or b""))
        wanted = (-1, -1, -1, b"")
        part.must(found == wanted, f"it is refused, and has ends and records {found}; it must have {wanted}", part.row)

    def _is_news(self, row, committed):
        ends = (row.log.end, row.log.start)
        return self.epoch <= 0 or bool(self._behind(row, committed)) or self.reported.get(row.place) != ends

    @breaks("fetch-010", "txn-004")
    def _must_hold(self, part, row, committed, held):
        log = row.log
        ends = (part.high_watermark, part.last_stable_offset, part.log_start_offset)
        wanted = (log.end, log.stable, log.start)
        part.must(ends == wanted, f"its end, stable offset and start are {ends}; they must be {wanted}", part.row)
        self.among.shown(self.node, log, log.end)
        self._must_give(part, held)
        _must_name_aborted(part, row, committed)
        if part.version >= LAST_EPOCHS_SINCE:
            parted = part.at(part.row).diverging_epoch
            found = (parted.epoch, parted.end_offset)
            part.must(found == UNSAID, f"its past ends at {found}; it has what the reader has read", part.row)
        if part.version >= FOLLOWED_SINCE:
            part.must_have(f"{part.row}.preferred_read_replica", -1)

    @breaks("fetch-002", "fetch-012")
    def _must_give(self, part, held):
        found = [self._content(part, each) for each in part.batches]
        wanted = [(each.base, each.producer, each.marker or [v.encode() for v in each.records]) for each in held]
        part.must(found == wanted, f"its batches are {found}; they must be {wanted}", f"{part.row}.records")

    def _content(self, part, each):
        header = each.header
        content = part.marker_of(each).kind if header.is_control else [one.value for one in part.records_of(each)]
        return header.base_offset, header.producer_id, content

    @breaks("repl-018")
    def _must_name_leaders(self, answer, parts):
        """The present leaders of those that moved, each with its address; or none at all."""
        if answer.version < HINTS_SINCE:
            return
        named = {
            place: (part.at(part.row).current_leader.leader_id, part.at(part.row).current_leader.leader_epoch)
            for place, part in parts.items()
        }
        right = {
            place: (self.rows[place].log.leader, self.rows[place].log.now) if part.error in MOVED else UNSAID
            for place, part in parts.items()
        }
        said = sorted((row.node_id, row.host, row.port) for row in answer.struct.node_endpoints)
        if all(each == UNSAID for each in named.values()):
            answer.must(not said, "it lists addresses of leaders that it names nowhere", "node_endpoints")
            return
        answer.must(named == right, f"it names the leaders and epochs {named}; they are {right}", "responses")
        brokers = {row.node_id: (row.host, row.port) for row in self.wire.metadata(to=self.node).struct.brokers}
        listed = sorted({(leader, *brokers[leader]) for leader, _ in right.values() if leader >= 0})
        answer.must(said == listed, f"it lists the addresses {said}; they are {listed}", "node_endpoints")

    @breaks("fetch-009")
    def _may_be(self, answer, under_way):
        """What is not known of a replica is how much it knows: nothing that there is not, and nothing that it had not
        a moment ago."""
        answer.must_have("error_code", 0).must_have("session_id", self.id)
        committed, named = self._committed, [place for place, _ in answer._rows()]
        answer.must(
            len(set(named)) == len(named) and set(named) <= set(self.rows),
            f"it names {named}; the session has {sorted(self.rows)}",
            "responses",
        )
        for place, row in self.rows.items():
            due = self._due(row, answer.version)
            if place not in named:
                is_due = due and (due != OUTSIDE or row.offset > row.log.end)
                answer.must(not is_due, f"{place} is left out; it must be refused with {due}", "responses")
                continue
            part = answer.of(*place)
            if part.error:
                part.must_be_refused(*(due or OUTSIDE))
                self.reported[place] = IN_ERROR
                continue
            part.must(not due or due == OUTSIDE, f"{place} must be refused with {due}", part.row)
            self._may_hold(part, row, committed, is_exact=self.node == row.log.leader and row.log is not under_way)

    @breaks("fetch-010")
    def _may_hold(self, part, row, committed, *, is_exact):
        log, held = row.log, self._behind(row, committed)
        if is_exact:
            self._must_hold(part, row, committed, held)
        end, stable = part.high_watermark, part.last_stable_offset
        least = self.among.shown(self.node, log, end)
        part.must(least <= end <= log.end, f"its end is {end}; it was {least}, and there is {log.end}", part.row)
        with breaks("txn-004"):
            part.must(stable <= end, f"its stable offset is {stable}, and its end {end}", part.row)
        bound = stable if committed else end
        self._must_give(part, [each for each in held if each.base < bound])
        _must_name_aborted(part, row, committed)
        self.reported[row.place] = (end, part.log_start_offset)
