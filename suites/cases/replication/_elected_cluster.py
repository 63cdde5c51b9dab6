"""Topics of drawn replica orders whose leaders change: what is done to them, and what is written to them meanwhile."""

from itertools import permutations

from brokertrial.suites.cases.replication._elected import ElectedPartition, ElectedRecord, taken_apart
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import BROKER, DELETE, SET, TOPIC
from brokertrial.suites.probe.core import LEADER_UNSETTLED
from brokertrial.suites.probe.failures import NoResponse, breaks
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALLOWED, LEAST, ELIGIBLE = "unclean.leader.election.enable", "min.insync.replicas", "eligible.leader.replicas.version"
SETTING_COUNTS = 22
"""From this metadata.version on (4.0) the setting counts while brokers run (KAFKA-12670)."""
ALL_BROKERS, SIZES, ABSENT = "", (1, 2, 2, 2, 3), 99
SAYS = (None, False, True)
"""What a topic says itself of unclean elections: nothing, or whether they are allowed."""
TAKES_S, SURELY_KNOWN_S, LATEST = 20, 0.5, -1
"""A leader may go by an in-sync set a moment before its node shows it."""
TOO_FEW = (errors.NOT_ENOUGH_REPLICAS,)
NOT_LED = (errors.NOT_LEADER_OR_FOLLOWER, errors.LEADER_NOT_AVAILABLE)
PREFERRED, UNCLEAN = 0, 1


class ElectedCluster:
    """The partitions as they must be, and who is alive."""

    def __init__(self, wire, rng):
        self.wire, self.rng, self.everyone = wire, rng, sorted(wire.nodes)
        self.alive = list(self.everyone)
        level = wire.features.get("metadata.version", SETTING_COUNTS)
        self.setting_counts = level >= SETTING_COUNTS
        self.keeps_eligible = wire.features.get(ELIGIBLE, 0) > 0
        self.own: dict[str, bool | None] = {}
        self.default: bool | None = None
        self.written = 0
        self.producers = {0: wire.producer()}
        """By how often the log was cut that they write to."""
        self.parts: list[ElectedPartition] = []
        pairs = iter(rng.sample(SAYS, len(SAYS)))
        for size in SIZES:
            self._make(size, next(pairs) if size == 2 else rng.choice(SAYS))

    def _make(self, size, own):
        """Partitions of so many replicas each, in drawn orders."""
        least = self.rng.randint(1, min(2, size))
        every = [*permutations(self.everyone, size)]
        orders = self.rng.sample(every, len(every))
        topic = self.wire.name("t")
        own = own if self.setting_counts else None
        settings = {LEAST: f"{least}"} | ({} if own is None else {ALLOWED: _word(own)})
        on, upwards = dict(enumerate(map(list, orders))), self.rng.random() < 0.5
        self.wire.create_topic(topic, partitions=-1, configs=settings, assignments=on).must_succeed()
        self.wire.await_topic(topic)
        self.own[topic] = own
        for index, order in enumerate(orders):
            part = ElectedPartition(topic, index, list(order), least, self.keeps_eligible)
            part.is_kept = size == 2 and (order[0] < order[1]) == upwards  # one of each two nodes
            self.parts.append(part)

    def _unclean(self, part):
        own = self.own[part.topic]
        return bool(self.default if own is None else own) and self.setting_counts

    # what happens to nodes

    def loses(self, node):
        self.alive.remove(node)
        self.wire.drop_lines(node)
        for part in self.parts:
            part.loses(node, self._unclean(part))

    def gets_back(self, node, clean):
        self.alive = sorted([*self.alive, node])
        for part in self.parts:
            part.gets_back(node, clean, self._unclean(part))
            part.catches_up()

    def loses_and_gets_back(self, lost, back, clean):
        """One dies and the other comes back, in either order."""
        self.alive = sorted([*(node for node in self.alive if node != lost), back])
        self.wire.drop_lines(lost)
        for number, part in enumerate(self.parts):
            ways, unclean = {*part.ways}, self._unclean(part)
            alone = part.isr == {lost} and back in part.replicas
            part.loses(lost, unclean)
            part.gets_back(back, clean, unclean)
            if alone and part.is_led and NO_NODE not in {leader for leader, _ in ways}:
                other = ElectedPartition(part.topic, number, part.replicas, part.least, part.keeps_eligible)
                other.ways = {(leader, epoch + 1) for leader in part.leaders for _, epoch in ways}
                taken_apart(part, other)
            part.catches_up()

    # settings

    def sets(self):
        """Who may lead without having everything, and how many must be in sync; while all are."""
        names = self.rng.sample(sorted(self.own), len(self.own))
        if self.setting_counts:
            self.default = self.rng.choice((None, False, True, True, True))
            self._set(BROKER, ALL_BROKERS, ALLOWED, self.default)
            pairs = {part.topic for part in self.parts if len(part.replicas) == 2}
            values = iter(self.rng.sample(SAYS, len(SAYS)))
            for name in names:
                self.own[name] = next(values) if name in pairs else self.rng.choice(SAYS)
                self._set(TOPIC, name, ALLOWED, self.own[name])
        name = names[0]
        parts = [part for part in self.parts if part.topic == name]
        least = self.rng.randint(1, min(2, *(len(part.replicas) for part in parts)))
        self._set(TOPIC, name, LEAST, f"{least}")
        for part in parts:
            part.least = least

    @breaks("adm-010")
    def _set(self, kind, name, key, value):
        how = DELETE if value is None else SET
        text = _word(value) if isinstance(value, bool) else value
        self.wire.change_configs(kind, name, [(key, how, text)], to=self.rng.choice(self.alive)).must_succeed()

    def unset(self):
        """The brokers are left without a default; who does not answer has none after the case."""
        if self.default is not None:
            try:
                changed = self.wire.change_configs(BROKER, ALL_BROKERS, [(ALLOWED, DELETE, None)], to=self.alive[0])
                changed.examined = True
            except NoResponse:
                self.wire.drop_lines(self.alive[0])

    # records

    def write(self):
        """To some of the partitions; each is taken as it must be, and is at all in sync then."""
        self.wire.rest(SURELY_KNOWN_S)
        for part in self.rng.sample(self.parts, len(self.parts)):
            if self.rng.random() < 0.5:
                (self._write if part.is_led else self._is_not_taken)(part)
        self.must_be_committed()

    def _write(self, part):
        """What an unclean election may give up is not acknowledged by all that were in sync."""
        may_be_lost = len(part.isr) < min(2, len(part.replicas)) and (self._unclean(part) or not part.is_kept)
        kinds = (0, 1) if may_be_lost and not part.has_too_few else (-1, 1, 0)
        for acks in self.rng.sample(kinds, self.rng.randint(1, len(kinds))):
            self.written += 1
            value = f"{self.written}"
            if acks == 0:
                self._unanswered(part, value)
            elif acks == -1 and part.has_too_few:
                self._is_refused(part, value)
            else:
                self._taken(part, value, acks)

    @breaks("repl-003")
    def _is_refused(self, part, value):
        def refused():
            leader, _ = self._led_now(part)
            answer = self.wire.produce(part.topic, batch(value), part.index, to=leader)
            return None if answer.error in LEADER_UNSETTLED else answer

        answer = self.wire.until(refused, within=WITHIN_S, what=f"who leads {part} answers")
        answer.must_be_refused(*TOO_FEW)

    @breaks("repl-001", "repl-003")
    def _taken(self, part, value, acks):
        """What a leader refuses because it hands over may be written: sent again it is known by its sequence."""
        if part.cuts not in self.producers:
            self.producers[part.cuts] = self.wire.producer()
        sequence = sum(each.numbered == part.cuts for each in part.log)
        made = self.producers[part.cuts].batch(value, sequence=sequence)

        def taken():
            answer = self.wire.produce(part.topic, made, part.index, acks=acks, to=self._led_now(part)[0])
            again = answer.error in LEADER_UNSETTLED or (acks == -1 and answer.error in TOO_FEW)
            return None if again else answer

        answer = self.wire.until(taken, within=WITHIN_S, what=f"{part} takes a record")
        answer.must_be_at(len(part.log))
        self._is_in(part, value, numbered=part.cuts)

    @breaks("repl-003")
    def _unanswered(self, part, value):
        """acks=0: it is there when the next request on its connection is answered, or was not taken: who has just
        been elected may refuse the first one."""

        def taken():
            leader, _ = self._leader_that_knows(part)
            self.wire.produce(part.topic, batch(value), part.index, acks=0, to=leader)
            return self._leader_that_knows(part)[1] > len(part.log)

        self.wire.until(taken, within=WITHIN_S, what=f"{part} has a record that was sent with acks=0")
        self._is_in(part, value, numbered=-1)

    def _leader_that_knows(self, part):
        """And where its log ends: others may have heard of an election before the one that is elected."""

        def found():
            way = self._led_now(part)
            end = self._end(part, *way)
            return (way[0], end) if end >= 0 else None

        return self.wire.until(found, within=WITHIN_S, what=f"who leads {part} knows that")

    @breaks("repl-007")
    def _led_now(self, part):
        """Leader and epoch; nodes that are away are not asked, and no other is."""
        rows = self.wire.metadata(part.topic, to=self.rng.choice(self.alive)).struct.topics[0].partitions
        row = next(each for each in rows if each.partition_index == part.index)
        return row.leader_id, row.leader_epoch

    def _end(self, part, leader, epoch):
        """The end of the log as its leader has it (an epoch that goes on ends there), or -1."""
        answer = self.wire.offset_for_leader_epoch(part.topic, part.index, epoch=epoch, to=leader)
        answer.examined = True
        return answer.struct.topics[0].partitions[0].end_offset

    def _is_in(self, part, value, numbered):
        epochs = frozenset(epoch for _, epoch in part.ways)
        part.log.append(ElectedRecord(value, epochs, numbered))
        part.uncommitted += 1

    @breaks("repl-002")
    def must_be_committed(self):
        """All that are in sync have it, where they are enough; and consumers are given no more than that."""
        parts = [part for part in self.parts if part.is_led and not part.has_too_few]

        def all_shown():
            found = self._shown_ends(parts)
            for part in parts:
                end, shown = len(part.log), found.get(part)
                self.wire.must(shown == end, f"{part} is shown to end at {shown}; it has {end} records, at all in sync")

        self.wire.eventually(same_draws(self.rng, all_shown), within=WITHIN_S)
        for part in parts:
            part.uncommitted = 0

    def _shown_ends(self, parts):
        """Up to where each leader gives consumers records; nothing of those that it does not answer for yet."""
        rows = self.wire.metadata(*sorted(self.own), to=self.rng.choice(self.alive)).struct.topics
        led = {(row.name, each.partition_index): each.leader_id for row in rows for each in row.partitions}
        found: dict[ElectedPartition, int] = {}
        for node in self.alive:
            of_it = [part for part in parts if led.get((part.topic, part.index)) == node]
            found |= self._ends_at(node, of_it) if of_it else {}
        return found

    def _ends_at(self, node, parts):
        by_topic: dict[str, list[dict[str, int]]] = {part.topic: [] for part in parts}
        for part in parts:
            row = {"partition_index": part.index, "current_leader_epoch": -1, "timestamp": LATEST}
            by_topic[part.topic].append(row)
        rows = [{"name": name, "partitions": of_it} for name, of_it in by_topic.items()]
        asked = request("ListOffsets", replica_id=-1, isolation_level=0, timeout_ms=10_000, topics=rows)
        answer = self.wire.ask(asked, to=node)
        answer.examined = True
        shown = {(row.name, each.partition_index): each for row in answer.struct.topics for each in row.partitions}
        mine = {part: shown[part.topic, part.index] for part in parts if (part.topic, part.index) in shown}
        return {part: row.offset for part, row in mine.items() if not row.error_code}

    @breaks("repl-005")
    def _is_not_taken(self, part):
        """There is no leader."""
        if living := sorted(part.alive):
            acks = self.rng.choice((-1, 1))
            self.wire.produce(
                part.topic, batch("x"), part.index, acks=acks, to=self.rng.choice(living), retry=False
            ).must_be_refused(*NOT_LED)

    # elections

    @property
    def waits_for_an_election(self):
        """Whether a partition has no leader, and a replica that is alive."""
        return any(part.alive and not part.is_led for part in self.parts)

    @breaks("adm-013")
    def elect(self, unclean):
        """Of all partitions, or of some with what there is not beside them."""
        named = (
            None
            if self.rng.random() < 0.3
            else self.rng.sample(self.parts, self.rng.randint(len(self.parts) // 2, len(self.parts)))
        )
        rows = None if named is None else self._rows(named)
        kind = UNCLEAN if unclean else PREFERRED
        asked = request("ElectLeaders", election_type=kind, topic_partitions=rows, timeout_ms=1000 * TAKES_S)
        answer = self.wire.ask(asked, to=self.rng.choice(self.alive), may_take_s=TAKES_S)
        found = {
            (row.topic, part.partition_id): part.error_code
            for row in answer.struct.replica_election_results
            for part in row.partition_result
        }
        answer.must(not answer.struct.error_code, f"ElectLeaders is answered with {answer.struct.error_code}")
        for part in self.parts if named is None else named:
            self._must_be_elected(answer, part, unclean, found, named is None)
        if rows is not None:
            self._must_be_unknown(answer, rows, named, found)

    def _rows(self, named):
        """Each topic once; a partition too many of one, and a topic that is not there."""
        by_topic: dict[str, list[int]] = {}
        for part in named:
            by_topic.setdefault(part.topic, []).append(part.index)
        by_topic[self.rng.choice(sorted(by_topic))].append(ABSENT)
        by_topic[self.wire.name("absent")] = [0]
        names = self.rng.sample(sorted(by_topic), len(by_topic))
        return [{"topic": name, "partitions": self.rng.sample(by_topic[name], len(by_topic[name]))} for name in names]

    def _must_be_elected(self, answer, part, unclean, found, whole):
        ways = part.elected_when_asked(unclean)
        code = found.get((part.topic, part.index), errors.ELECTION_NOT_NEEDED if whole else None)
        kind = "an unclean" if unclean else "a preferred"
        answer.must(
            code in ways,
            f"{kind} election of {part} (replicas {part.replicas}, in sync {sorted(part.isr)}, alive "
            f"{sorted(part.alive)}, leader and epoch {sorted(part.ways)}) is answered with {code}; it must be "
            f"{' or '.join(map(str, sorted(ways)))}",
            "replica_election_results",
        )
        part.was_elected(code, unclean)

    def _must_be_unknown(self, answer, rows, named, found):
        there = {(part.topic, part.index) for part in named}
        asked = {(row["topic"], index) for row in rows for index in row["partitions"]}
        wrong = {place: found.get(place) for place in asked - there}
        answer.must(
            {*wrong.values()} == {errors.UNKNOWN_TOPIC_OR_PARTITION} and {*found} == asked,
            f"ElectLeaders answers for {sorted(found)}; it must be {sorted(asked)}, and with 3 for {sorted(wrong)}",
            "replica_election_results",
        )


def _word(value):
    return "true" if value else "false"
