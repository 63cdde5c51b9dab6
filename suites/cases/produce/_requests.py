"""Produce requests as they are drawn, several partitions in each, and their answers as they must be, row by row."""

from typing import NamedTuple
from uuid import UUID

from brokertrial.suites.cases.produce._batches import WRONG, Drawing, DrawnBatch, Rules, broken_by, fits_surely, judged
from brokertrial.suites.cases.produce._logs import MOVED, SKEW_MS, UNKNOWN, WITHIN_S, Stored, WrittenTopics
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

BY_ID, NAMES_RECORDS_SINCE, LOG_START_SINCE, WINDOW = 13, 8, 5, 5
NO_PARTITIONS = (-1, 77, 2**31 - 1)
AGAIN = ("idem-002", "idem-003")
"""What is broken where a batch that is there already is not answered as the first time."""
NOT_NEXT = (errors.OUT_OF_ORDER_SEQUENCE_NUMBER,)
NO_OFFSET = "a partition that is refused is answered with an offset; Apache Kafka answers -1"
"""No text promises a value beside an error code, and clients heed the code first."""


class SentRow(NamedTuple):
    """What is sent to a place and what must come of it: refused with one of the codes, or taken, or there already."""

    sent: DrawnBatch
    codes: tuple[int, ...]
    wrong: frozenset[int] = frozenset()
    there: Stored | None = None


class WhatIsSent:
    """Requests as they are drawn, and their answers as they must be."""

    def __init__(self, wire, topic_of, rng, *, in_full, leaders_move=False):
        self.acks = (-1,) if leaders_move and len(wire.nodes) > 1 else (-1, -1, 1, 0)
        """Where leaders move, what not all have may be lost."""
        self.wire, self.rng, self.in_full = wire, rng, in_full
        self.drawing = Drawing(rng, wire.now_ms())
        self.topics = WrittenTopics(wire, rng, self.drawing, in_full=in_full)
        for compacted in (False, False, True):
            self.topics.make(topic_of, compacted)
        self.absent = {wire.name("nobody"): UUID(int=rng.getrandbits(128)) for _ in range(2)}
        self.unheard = 0
        self.producers = [wire.producer() for _ in range(2)]
        self.sent = {}
        """(producer, place) -> its batches there, the newest last."""
        self.versions = [each for each in wire.versions("Produce") if each >= 3]

    def step(self, step):
        rng, topics = self.rng, self.topics
        place = rng.choice(list(topics.logs))
        if step == "send":
            self.send(rng.sample(list(topics.logs), rng.randint(1, len(topics.logs))), rng.choice(self.acks) or -1)
        elif step == "alone":
            self.send([place], -1)
        elif step == "unheard" and 0 in self.acks:
            self.send_unheard(rng.sample(list(topics.logs), rng.randint(1, 3)))
        elif step == "change":
            topics.change(place[0], 2)
        elif step == "grow":
            topics.grow(place[0])
        elif step == "trim" and not topics.rules[place[0]].compacted:
            topics.trim(place)
        elif step == "nothing":
            self.send_nothing()
        elif step == "unknown acks":
            self.send_with_unknown_acks(place)
        elif step == "read":
            topics.must_be_read(place)

    def forget(self):
        """After a restart a partition need know the newest batch of each producer alone."""
        self.sent = {key: batches[-1:] for key, batches in self.sent.items()}
        self.topics.lost = ("prod-002", "prod-018")

    def must_be_read(self):
        for place in self.topics.logs:
            self.topics.must_be_read(place)

    # -- rows ------------------------------------------------------------------------------------------------

    def rows(self, places, version, node, *, idempotent):
        """One for each place: a good batch or a bad one, and of a producer the next, one that is there, one too far."""
        rows = {}
        for place in places:
            rules = self.topics.rules[place[0]]
            what = self.rng.choice(
                ("good", "good", "limit", "bad", "bad", *(("next", "next", "again", "gap") * idempotent))
            )
            row = getattr(self, f"_{what}")(place, rules, version)
            rows[place] = row if self.wire.leader(*place) == node else row._replace(codes=(*MOVED, *row.codes))
        if self.rng.random() < 0.4:
            rows |= self._nowhere(version)
        order = self.rng.sample(list(rows), len(rows))
        return {place: rows[place] for place in order}

    def _judged(self, sent, rules, version):
        codes, wrong = judged(sent, rules, version, self.drawing.now_ms)
        return SentRow(sent, codes, frozenset(wrong))

    def _good(self, place, rules, version):
        return self._judged(self.drawing.good(rules, version), rules, version)

    def _limit(self, place, rules, version):
        return self._judged(self.drawing.at_the_limit(rules), rules, version)

    def _bad(self, place, rules, version):
        return self._judged(self.drawing.bad(rules, version), rules, version)

    def _next(self, place, rules, version, ahead=0):
        number = self.rng.randrange(len(self.producers))
        before, who = self.sent.get((number, place)), self.producers[number]
        first = before[-1].sent.producer[2] + len(before[-1].sent.records) if before else 0
        return self._judged(self.drawing.good(rules, version, (who.id, who.epoch, first + ahead)), rules, version)

    def _gap(self, place, rules, version):
        """The next sequence but one, a gap that only a partition that knows the producer can detect."""
        row = self._next(place, rules, version, self.rng.choice((1, 2, 50)))
        kept = self.sent.get((self._number(row.sent), place), ())
        known = kept and kept[-1].base >= self.topics.logs[place].start
        return row._replace(codes=NOT_NEXT) if known else self._good(place, rules, version)

    def _again(self, place, rules, version):
        """One of the newest of a producer, if it would still be taken by what it is."""
        start, now_ms = self.topics.logs[place].start, self.drawing.now_ms
        kept = [each for number in range(2) for each in self.sent.get((number, place), ())[-WINDOW:]]
        fitting = [
            each
            for each in kept
            if each.base >= start and fits_surely(each.sent, rules) and not judged(each.sent, rules, version, now_ms)[0]
        ]
        if not fitting:
            return self._good(place, rules, version)
        there = self.rng.choice(fitting)
        return SentRow(there.sent, (), there=there)

    def _number(self, sent):
        return next((n for n, who in enumerate(self.producers) if who.id == sent.producer[0]), None)

    def _nowhere(self, version):
        """For a topic or a partition that does not exist."""
        sent = self.drawing.good(Rules(), version)
        if self.rng.random() < 0.5:
            topic = self.rng.choice(list(self.topics.rules))
            return {(topic, self.rng.choice(NO_PARTITIONS)): SentRow(sent, (errors.UNKNOWN_TOPIC_OR_PARTITION,))}
        code = errors.UNKNOWN_TOPIC_ID if version >= BY_ID else errors.UNKNOWN_TOPIC_OR_PARTITION
        return {(name, self.rng.randrange(2)): SentRow(sent, (code,)) for name in self.rng.sample(list(self.absent), 1)}

    # -- requests --------------------------------------------------------------------------------------------

    @breaks("prod-007")
    def send(self, places, acks):
        """A request to the leader of the first place; what finds its leader moved and was not taken is sent again."""
        version = self.rng.choice(self.versions)
        node = self.wire.leader(*places[0])
        rows = self.rows(places, version, node, idempotent=True)

        def settled():
            first = places[0] if places[0] in rows else next(iter(rows))
            answer = self._ask(rows, acks, version, self.wire.leader(*first))
            for place, part in self._answered(answer, rows).items():
                if part.error_code not in MOVED or part.error_code in rows[place].codes:
                    self._must_be_answered(answer, place, rows.pop(place), part)
            for place, row in list(rows.items()):
                taken = self.topics.was_taken(place, row.sent)
                if taken and not row.codes and row.there is None:
                    self._take(place, rows.pop(place).sent, UNKNOWN if self.topics.rules[place[0]].own_time else -1)
            return not rows

        self.wire.until(settled, within=WITHIN_S, what="the leaders take what is theirs")

    def send_unheard(self, places):
        """Without an answer; what goes wrong closes the connection, and keeps nothing else from being taken."""
        version = self.rng.choice(self.versions)
        node = self.wire.leader(*places[0])
        rows = self.rows(places, version, node, idempotent=False)
        self.unheard += 1
        self._ask(rows, 0, version, node, via=f"unheard {self.unheard}")
        self._must_be_over(f"unheard {self.unheard}", node)
        for place, row in rows.items():
            if not row.codes:
                self._take(place, row.sent, UNKNOWN if self.topics.rules[place[0]].own_time else -1)
        for place in places:
            self.topics.must_end(place)

    @breaks("prot-009")
    def _must_be_over(self, via, node):
        """What is refused today would be accepted once the settings are others: the broker must have looked at it."""
        line = self.wire.connect(via, node)
        line.send_bytes(self.wire.frame(request("ApiVersions"), 0, correlation_id=78))
        self.wire.must_refuse(line, because="a request came behind a Produce with acks=0")

    @breaks("prod-007")
    def send_nothing(self):
        answer = self._ask({}, -1, self.rng.choice(self.versions), self.rng.choice(self.wire.nodes))
        answer.must(not answer.struct.responses, "nothing was sent, and something is answered", "responses")

    def send_with_unknown_acks(self, place):
        version, node = self.rng.choice(self.versions), self.wire.leader(*place)
        row = self._good(place, self.topics.rules[place[0]], version)._replace(codes=(errors.INVALID_REQUIRED_ACKS,))
        answer = self._ask({place: row}, self.rng.choice((2, -2, 127)), version, node)
        self._must_be_answered(answer, place, row, self._answered(answer, [place])[place])

    def _ask(self, rows, acks, version, node, via="main"):
        topics = [
            {
                "name": topic,
                "topic_id": self.absent[topic] if topic in self.absent else self.wire.topic_id(topic),
                "partition_data": [
                    {"index": n, "records": row.sent.data} for (name, n), row in rows.items() if name == topic
                ],
            }
            for topic in dict.fromkeys(topic for topic, _ in rows)
        ]
        timeout_ms = self.rng.choice((5_000, 30_000))
        asked = request("Produce", acks=acks, timeout_ms=timeout_ms, topic_data=topics)
        return self.wire.ask(
            asked, version=version, to=node, via=via, answered=acks != 0, wait=acks != 0, may_take_s=timeout_ms / 1000
        )

    # -- answers ---------------------------------------------------------------------------------------------

    @breaks("prod-007")
    def _answered(self, answer, rows):
        """Place -> its row of the answer; each must be there once, and no other."""
        names = {self.wire.topic_id(topic): topic for topic in self.topics.rules} | {
            i: n for n, i in self.absent.items()
        }
        by_id = answer.version >= BY_ID
        parts = [
            ((names.get(row.topic_id) if by_id else row.name, part.index), part)
            for row in answer.struct.responses
            for part in row.partition_responses
        ]
        found, wanted = sorted((place for place, _ in parts), key=str), sorted(rows, key=str)
        answer.must(found == wanted, f"the rows are of {found}; they must be of {wanted}", "responses")
        return dict(parts)

    def _must_be_answered(self, answer, place, row, part):
        what = f"{place[0]}-{place[1]}"
        if row.codes:
            named = " or ".join(errors.name(code) for code in row.codes)
            with breaks(*broken_by([code for code in row.codes if code not in MOVED])):
                said = f"{what} is answered {errors.name(part.error_code)}; it must be {named}"
                answer.must(part.error_code in row.codes, said, "responses")
            if part.base_offset != -1 and NO_OFFSET not in self.wire.noted:
                self.wire.noted.append(NO_OFFSET)
        else:
            code = part.error_code
            broken = (*broken_by([code]), "prod-007") if code not in WRONG else ("prod-007",)
            with breaks(*(broken if row.there is None else AGAIN)):
                said = f"{what} is answered {errors.name(part.error_code)}; it must be taken"
                answer.must(part.error_code == 0, said, "responses")
            self._must_be_taken(answer, place, row, part)
        if answer.version >= NAMES_RECORDS_SINCE:
            self._must_name_records(answer, what, row, part)

    @breaks("prod-017")
    def _must_be_taken(self, answer, place, row, part):
        log, own_time = self.topics.logs[place], self.topics.rules[place[0]].own_time
        base, append_ms, start = part.base_offset, part.log_append_time_ms, part.log_start_offset
        wanted = log.end if row.there is None else row.there.base
        with breaks(*(("prod-001",) if row.there is None else AGAIN)):
            said = f"{place[0]}-{place[1]} is answered with the offset {base}; it must be {wanted}"
            answer.must(base == wanted, said, "responses")
        if answer.version >= LOG_START_SINCE:
            answer.must(start == log.start, f"its log starts at {start}; it must be {log.start}", "responses")
        if row.there is None:
            now = self.wire.now_ms()
            right = append_ms == -1 if not own_time else abs(append_ms - now) <= SKEW_MS
            whose = "the broker's" if own_time else "the producer's"
            with breaks("prod-017", "rec-003"):
                what = f"log_append_time is {append_ms}; it is {now}, and {whose} time counts"
                answer.must(right, what, "responses")
            self._take(place, row.sent, append_ms)
        elif row.there.append_ms != -1:
            stored = row.there.append_ms
            answer.must(
                append_ms == stored, f"log_append_time is {append_ms}; it was {stored} the first time", "responses"
            )

    def _take(self, place, sent, append_ms):
        rules = self.topics.rules[place[0]]
        taken = self.topics.logs[place].take(sent, append_ms, rules.stored_in(sent.codec))
        if (number := self._number(sent)) is not None:
            self.sent.setdefault((number, place), []).append(taken)

    @breaks("rec-009")
    def _must_name_records(self, answer, what, row, part):
        """A corrupt batch may be reported in any way; of other refusals a wrong record index misleads the reader of the
        error.
        """
        named = sorted(each.batch_index for each in part.record_errors)
        wrong = sorted(row.wrong)
        if not row.sent.codes and part.error_code not in MOVED:
            right = row.wrong.issuperset(named)
            answer.must(right, f"the records {named} of {what} are named; wrong are {wrong}", "responses")
        if self.in_full and row.wrong and part.error_code not in MOVED:
            answer.must(named == wrong, f"the records {named} of {what} are named; wrong are {wrong}", "responses")
            why = part.error_message and all(each.batch_index_error_message for each in part.record_errors)
            answer.must(bool(why), f"{what} is answered without saying what is wrong with the records", "responses")
        if not row.codes:
            answer.must(
                not part.error_message,
                f"{what} is taken, and answered with the message {part.error_message!r}",
                "responses",
            )
