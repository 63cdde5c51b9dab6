"""What happens to partitions at whose nodes requests wait, and how these are looked at meanwhile."""

from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.cases.replication._waiters import ELECTED, MOVES, SHRUNK, STAYS, STRICT, TAKEN
from brokertrial.suites.cases.replication._waits_asked import WaitsAsked
from brokertrial.suites.cases.replication._waits_judged import PROMPT_S, WAITS, kept, shown
from brokertrial.suites.cases.replication._waits_logs import must_be_whole, sent_again
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire.messages import request

A_MOMENT_S = 0.002
"""Nothing comes then, but from a broker that answers too early."""


class WaitsRound(WaitsAsked):
    """What happens to those who wait."""

    # what happens

    def drawn_events(self, kills):
        """In a drawn order, and after each who has to know it by now."""
        events = [self._moves, self._deleted, self._made_again, self._set, self._grown, self._closes]
        self.rng.shuffle(events)
        early = (self._moves, self._deleted)
        events.sort(key=lambda event: event not in early)  # while all are in sync
        for number, event in enumerate(events):
            if number == len(early):
                self._writes_everywhere(kills)
            event()
            self.looks()
        if kills:
            self._dies()
            self.looks()

    @breaks("adm-019")
    def _moves(self):
        a, b, c = self.first, self.second, self.cut_node
        orders = {(ELECTED, a): [b, a, c], (TAKEN, a): [b], (ELECTED, c): [a, b, c], (SHRUNK, a): [a, b]}
        moving = [part for part in self.parts if part.fate in (*MOVES, SHRUNK)]
        for part in moving:
            part.target, part.happened = orders[part.fate, part.first], True
        for part in [part for part in self.parts if part.order == [b, a, c] and part.place[0] == self.main]:
            part.target = [b, c, a]  # nothing else happens to it
            moving.append(part)
        rows = [
            {"name": self.main, "partitions": [{"partition_index": p.place[1], "replicas": p.target} for p in moving]}
        ]
        asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows)
        self.wire.ask(asked, to=self.wire.controller).must_succeed()
        for part in moving:
            self.wire.until(lambda part=part: self._has_moved(part), within=WITHIN_S, what=f"{part.place} is moved")
            if shown(self.wire, part, part.target[0]).leader_id == part.target[0]:
                part.becomes(part.target)
            else:
                part.fate, part.happened, part.after = STAYS, False, part.target
        for part in moving:
            self.wire.until(
                lambda part=part: shown(self.wire, part, part.first).leader_id == part.leader,
                within=WITHIN_S,
                what=f"node {part.first} knows who leads {part.place}",
            )

    def _has_moved(self, part):
        """It is led by the first of its replicas, or that one is not in sync any more."""
        to = part.target[0]
        row = shown(self.wire, part, to)
        if row is None or list(row.replica_nodes) != part.target:
            return False
        if row.leader_id != to and to in row.isr_nodes:
            rows = [{"topic": part.place[0], "partitions": [part.place[1]]}]
            asked = request("ElectLeaders", topic_partitions=rows, timeout_ms=10_000)
            self.wire.ask(asked, to=self.wire.controller).examined = True
            row = shown(self.wire, part, to)
        return row.leader_id == to or to not in row.isr_nodes

    def _deleted(self):
        self._is_deleted(self.gone)

    def _is_deleted(self, topic):
        parts = [part for part in self.parts if part.place[0] == topic]
        for part in parts:
            part.happened = True
        self.wire.delete_topic(topic).must_succeed()
        for node in self.wire.nodes:
            self.wire.until(
                lambda node=node: self.wire.metadata(topic, to=node).struct.topics[0].error_code,
                within=WITHIN_S,
                what=f"node {node} knows that {topic} is deleted",
            )
        for part in parts:
            part.sure = self.wire.now_ms() < self.judge.in_sync_until_ms

    def _made_again(self):
        self._is_deleted(self.again)
        self.looks()
        self._makes(self.again, [[self.first, self.second]])

    def _set(self):
        self.wire.change_configs(TOPIC, self.strict, [("min.insync.replicas", SET, "3")]).must_succeed()
        for part in self.parts:
            part.happened = part.happened or part.fate == STRICT
        self.looks()
        self.wire.rest(0.3)
        strict = [part for part in self.parts if part.fate == STRICT]
        in_sync = all(self.cut_node in shown(self.wire, part).isr_nodes for part in strict)
        self.judge.strict_holds = in_sync and self.wire.now_ms() < self.judge.in_sync_until_ms

    def _grown(self):
        self.wire.create_partitions(
            self.main, sum(part.place[0] == self.main for part in self.parts) + 1
        ).must_succeed()

    def _closes(self):
        """Some who wait go away; what they sent may be done."""
        for line in self.rng.sample(self.pipelines, 3):
            line.line.close()

    @breaks("repl-007")
    def _dies(self):
        """A leader is gone; who waits at the others waits on."""
        self.dead = self.restarted = self.first
        self.rng.choice((self.nodes.kill, self.nodes.terminate))(self.first)
        for part in self.parts:
            if kept(part) and part.leader == self.dead:
                self.wire.until(
                    lambda part=part: shown(self.wire, part, self.second).leader_id == self.second,
                    within=WITHIN_S,
                    what=f"node {self.second} leads {part.place}",
                )
                part.is_led_by(self.second)

    @breaks("repl-010")
    def leaves_out_who_lacks(self):
        """The replicas that lack something are in sync no more: the others go on without them."""
        for part in self.parts:
            if kept(part):
                self.wire.until(
                    lambda part=part: self._are_left_out(part), within=WITHIN_S, what=f"{part.place} goes on"
                )
        self.judge.out = True
        self.looks()
        self.judge.clears_doubts()

    def _are_left_out(self, part):
        away = {*part.lacking(self.cut_node), self.dead}
        return not away & {*shown(self.wire, part).isr_nodes}

    def _writes_everywhere(self, kills):
        """Who reads has something to read, and who lacks it is out of sync some time later. What a leader has alone
        when it dies may be lost."""
        for part in self.parts:
            if kept(part):
                value = f"{next(self.values)}"
                answer = self.wire.produce(part.place[0], batch(value), part.place[1], to=part.leader, acks=1)
                part.loose.add(value.encode())
                if not (kills and part.leader == self.first):
                    part.acked[value.encode()] = answer.offset

    @breaks("repl-010")
    def comes_together(self):
        """All nodes are there, all replicas in sync; then the transaction ends."""
        self.judge.cut = False
        if self.dead is not None:
            self.nodes.start(self.dead)
            self.dead = None
        topics = {part.place[0]: part for part in self.parts if kept(part)}
        for topic in topics:
            self.wire.await_topic(topic)
        self.judge.healed = True
        self.looks()
        (self.txn.commit if self.rng.random() < 0.5 else self.txn.abort)().must_succeed()
        for part in self.parts:
            if part.stable:
                self.wire.await_settled(*part.place)
        self.judge.ended = True
        self.looks()

    # looking

    def looks(self):
        """Who must have an answer by now gets it, and nobody waits longer than it said; as long as all are in sync,
        also what has come too early."""
        for line in self.pipelines:
            while line.waiting and not line.closed and self._is_taken(line, line.waiting[0]):
                pass

    def _is_taken(self, line, waiter):
        now_ms = self.wire.now_ms()
        if self.judge.is_due(waiter) or now_ms > waiter.sent_ms + waiter.wait_ms:
            taken = line.take(PROMPT_S + self.wire.slack_s)
            if taken is None:
                self._is_missing(line, waiter)
        elif now_ms < min(self.judge.in_sync_until_ms, waiter.sent_ms + waiter.wait_ms - 200):
            taken = line.take(A_MOMENT_S)
        else:
            return False
        if taken is not None:
            self.judge.judge(taken)
        return taken is not None

    def _is_missing(self, line, waiter):
        waited = self.wire.now_ms() - waiter.sent_ms
        how = "its connection is closed" if line.closed else f"it waits for {waited} ms"
        what = ", ".join(f"{topic}-{index}" for topic, index in (part.place for part in waiter.rows))
        exchange = waiter.response.asked
        with breaks(WAITS.get(waiter.api, "prot-008")):
            self.wire.too_late(
                f"{waiter.api} v{waiter.version} of {what} at node {waiter.node} is not answered: {how}; it may wait "
                f"for {waiter.wait_ms} ms, and until what it waits for is decided",
                exchange.evidence(),
                (exchange.number,),
                waiter.api,
            )

    def must_be_whole(self):
        """What is not known to be written is sent again; then each log is as it was answered, on every replica."""
        for line in self.pipelines:
            line.ends()
        for part in self.parts:
            if kept(part):
                sent_again(self.wire, part, self.restarted)
                must_be_whole(self.wire, part)
        self.wire.await_topic(self.again)
        self.wire.list_offsets(self.again).must_name(offset=0)
