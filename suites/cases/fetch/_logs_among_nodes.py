"""Partitions of several leaders, and what each must hold, whoever leads it: what is written, ended, cut off, moved."""

from brokertrial.suites.cases.fetch._drawn_logs import Held, Log
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire import errors

ALONE = {"min.insync.replicas": "1"}
BY_NAME = 12
"""The last version of Fetch that names topics."""


class Place(Log):
    """A partition, who leads it in which epoch, and which nodes have it; `made` counts the topics of its name."""

    def __init__(self, place, made=0):
        super().__init__(place)
        self.leader, self.now, self.replicas, self.gone, self.made = NO_NODE, -1, [], False, made

    def take_values(self, values, producer=-1, marker=""):
        """A batch that the leader of today takes."""
        self.take(Held(self.end, values, producer=producer, marker=marker))
        self.batches[-1].epoch = self.now

    def epoch_before(self, offset):
        """The leader epoch of the record before a position, as a reader knows it; -1 where there is none."""
        return next((held.epoch for held in self.batches if held.base < offset <= held.last + 1), -1)


class LogsAmongNodes:
    """Two topics that stay, one of them on two nodes each, and one that is deleted and made again."""

    def __init__(self, wire, nodes, rng):
        self.wire, self.nodes, self.rng, self.turn = wire, nodes, rng, 0
        self.every, self.away = list(wire.nodes), NO_NODE
        a, b, c = rng.sample(self.every, 3)
        on = dict(enumerate(([a, b, c], [b, c, a], [c, a, b])))
        few = {index: order[:2] for index, order in on.items()}
        self.placed = {wire.name("t"): on, wire.name("u"): few, wire.name("v"): on}
        self.lasting = [*self.placed][:-1]
        """Topics for transactions: whose offsets are aborted is not asked of a name that two topics have had."""
        for topic in self.placed:
            self._make(topic)
        self.logs = {(topic, index): Place((topic, index)) for topic in self.placed for index in range(3)}
        self.producers = [wire.producer(wire.name(f"x{number}"), timeout_ms=60_000) for number in range(2)]
        self.since_ms = [0, 0]
        self.settled()

    def _make(self, topic):
        self.wire.will_make(self.wire.made_topics, topic)
        made = self.wire.create_topic(topic, partitions=-1, assignments=self.placed[topic], configs=ALONE)
        if made.error in (errors.UNSUPPORTED_VERSION, errors.INVALID_REQUEST, errors.INVALID_REPLICA_ASSIGNMENT):
            self.wire.not_applicable("the broker places partitions by itself", "unsupported")
        made.must_succeed()
        self.wire.await_topic(topic)

    @property
    def alive(self):
        """The nodes that are there."""
        return [node for node in self.every if node != self.away]

    def there(self):
        """Partitions of topics that are not deleted."""
        return [log for log in self.logs.values() if not log.gone]

    # what is written

    def _values(self):
        self.turn += 1
        return [f"{self.turn}.{at}" for at in range(self.rng.randint(1, 3))]

    @breaks("prod-001")
    def write(self, log):
        """A batch of no producer."""
        values = self._values()
        sent = self.wire.produce(log.place[0], batch(*values), log.place[1]).must_be_at(log.end)
        log.take_values(values)
        return sent

    def begin_to_write(self, log):
        """The same, under way until what is returned is called."""
        values, base = self._values(), log.end
        sent = self.wire.produce(log.place[0], batch(*values), log.place[1], via="writer", wait=False)
        log.take_values(values)
        return lambda: sent.must_be_at(base)

    @breaks("prod-001")
    def send(self, log, number):
        """A batch of a transaction."""
        producer, values = self.producers[number], self._values()
        if not self._mine(number):
            self.since_ms[number] = self.wire.now_ms()
        log.open.setdefault(producer.id, log.end)
        producer.send(log.place[0], *values, partition=log.place[1]).must_be_at(log.end)
        log.take_values(values, producer.id)

    def _mine(self, number):
        return [log for log in self.logs.values() if self.producers[number].id in log.open]

    @breaks("offs-001", "txn-004")
    def end(self, number, commit):
        """A transaction ends, if there is one, in each of its partitions."""
        mine, who = self._mine(number), self.producers[number].id
        if not mine:
            return
        (self.producers[number].commit() if commit else self.producers[number].abort()).must_succeed()
        for log in mine:
            first = log.open.pop(who)
            if not commit:
                log.aborted.append((who, first, log.end))
            log.take_values([], who, "COMMIT" if commit else "ABORT")
        for log in mine:
            self.wire.eventually(
                lambda log=log: self.wire.list_offsets(*log.place).must_name(offset=log.end), within=WITHIN_S
            )
            self.wire.await_stable_end(*log.place, offset=log.stable, within=WITHIN_S)
        if self.wire.versions("DescribeTransactions"):
            self.wire.until(lambda: self._is_complete(number), within=WITHIN_S, what="the transaction is complete")

    def _is_complete(self, number):
        """Before that, a coordinator that takes over writes the markers once more."""
        answer = self.wire.describe_transaction(self.producers[number].transactional_id)
        row = answer.struct.transaction_states[0]
        return not row.error_code and not row.transaction_state.startswith("Prepare")

    def end_old(self, older_ms=20_000):
        """Before it expires."""
        for number, since_ms in enumerate(self.since_ms):
            if self.wire.now_ms() > since_ms + older_ms:
                self.end(number, self.rng.random() < 0.5)

    def cut(self, log):
        """Records are deleted from the front, also all of an epoch, where all its replicas are there."""
        if log.stable > log.start and self.away not in log.replicas:
            epochs = {held.epoch: held.base for held in reversed(log.batches) if log.start < held.base <= log.stable}
            log.start = self.rng.choice([self.rng.randint(log.start, log.stable), *epochs.values()])
            self.wire.delete_records(*log.place, offset=log.start).must_succeed()

    # what moves

    def next_leads(self, log):
        """The other replicas take over, one after the other."""
        first, *others = log.replicas
        self._is_led(log, [*others, first])

    def replicas_move(self):
        """A partition leaves a node, which mostly led it, for the one that had none."""
        log = self.rng.choice([each for each in self.there() if len(each.replicas) == 2])
        leader, other = log.replicas
        (new,) = [node for node in self.every if node not in log.replicas]
        self._is_led(log, self.rng.choice(([other, new], [new, other], [leader, new])))

    def _is_led(self, log, order):
        for node in self.every:
            comes_to_lead(self.wire, log.place[0], order, node, log.place[1])
        self.settled()

    def goes(self, how):
        """A node is away."""
        self.away = self.rng.choice(self.every)
        how(self.away)
        self.settled()

    def comes_back(self):
        self.nodes.start(self.away)
        self.away = NO_NODE
        for topic in self.placed:
            self.wire.await_topic(topic)
        self.wire.refresh_metadata()
        await_leaders(self.wire, of_all=True)
        self.settled()

    @breaks("adm-006")
    def topic_goes(self):
        """The last topic is deleted, which no transaction is in."""
        topic = [*self.placed][-1]
        self.wire.delete_topic(topic).must_succeed()
        gone = errors.UNKNOWN_TOPIC_OR_PARTITION
        for node in self.alive:
            self.wire.eventually(
                lambda node=node: self.wire.metadata(topic, to=node).must_have("topics[0].error_code", gone),
                within=WITHIN_S,
            )
        for log in [log for log in self.logs.values() if log.place[0] == topic]:
            log.gone = True
            for node in self.alive:
                self.wire.until(
                    lambda log=log, node=node: self._fetched(log, node, version=BY_NAME, leader_epoch=-1).error == gone,
                    within=WITHIN_S,
                    what=f"node {node} has {log.place} no more",
                )

    def topic_is_made_again(self):
        """Another one of the same name, which has nothing."""
        topic = [*self.placed][-1]
        self._make(topic)
        for place in [place for place in self.logs if place[0] == topic]:
            self.logs[place] = Place(place, self.logs[place].made + 1)
        self.settled()

    # until all know

    @breaks("repl-007")
    def settled(self):
        """Each node knows who leads, who leads serves, and replicas have what they must."""
        for kind, key in self.wire.known_coordinators:
            self.wire.forget_coordinator(key, kind)
        for topic in self.placed:
            self.wire.refresh_metadata(topic)
        for log in self.there():
            self.wire.until(lambda log=log: self._agree(log), within=WITHIN_S, what=f"all know who leads {log.place}")
        for log in self.there():
            self.wire.refresh_metadata(log.place[0])
            self.wire.until(lambda log=log: self._serves(log), within=WITHIN_S, what=f"{log.place} is led")
            for node in self.alive:
                if node not in log.replicas:
                    self.wire.until(
                        lambda log=log, node=node: self._fetched(log, node).error == errors.NOT_LEADER_OR_FOLLOWER,
                        within=WITHIN_S,
                        what=f"node {node} has {log.place} no more",
                    )
                elif node != log.leader:
                    self.await_end(log, node)

    def _agree(self, log):
        shown = []
        for node in self.alive:
            (topic,) = self.wire.metadata(log.place[0], to=node).struct.topics
            row = next((row for row in topic.partitions if row.partition_index == log.place[1]), None)
            shown.append(row and (row.leader_id, row.leader_epoch, [*row.replica_nodes], {*row.isr_nodes}))
        leader, epoch, replicas, in_sync = shown[0] or (NO_NODE, -1, [], set())
        log.leader, log.now, log.replicas = leader, epoch, replicas
        alike = all(each == shown[0] for each in shown)
        return alike and leader in self.alive and in_sync == {*replicas} - {self.away}

    def _serves(self, log):
        return not self.wire.list_offsets(*log.place, leader_epoch=log.now).error

    def _fetched(self, log, node, **how):
        asked = {"offset": log.end, "isolation": COMMITTED, "leader_epoch": log.now, "max_wait_ms": 0, **how}
        return self.wire.fetch(*log.place, to=node, retry=False, **asked)

    @breaks("fetch-012")
    def await_end(self, log, node):
        """A follower knows the end, what is stable and where the log begins."""

        def knows():
            answer = self._fetched(log, node)
            if answer.error:
                return False
            return (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (
                log.end,
                log.stable,
                log.start,
            )

        self.wire.until(knows, within=WITHIN_S, what=f"node {node} knows that {log.place} ends at {log.end}")
