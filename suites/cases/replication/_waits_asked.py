"""Partitions on three nodes, of which one will replicate nothing for a while, and the requests that wait there."""

from itertools import count

from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.cases.replication._waiters import (
    AGAIN,
    DELETED,
    ELECTED,
    GONE,
    MOVES,
    NODE_STARTS,
    SHRUNK,
    STAYS,
    STRICT,
    TAKEN,
    WHOLE,
    WaitedPart,
    WaitedWrite,
    Waiter,
    WaitingLine,
    deletes,
    fetches,
    produces,
)
from brokertrial.suites.cases.replication._waits_judged import FROM_FOLLOWERS, NAMES_LEADERS, WaitsJudge
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

LONG_MS, SOME_MS, SHORT_MS = 40_000, 6_000, 1_500
SETTINGS = {"min.insync.replicas": "1"}
LAG = "replica.lag.time.max.ms"


class WaitsAsked:
    """Who is who, what is there beforehand, and who waits."""

    def __init__(self, wire, nodes, rng):
        self.wire, self.nodes, self.rng = wire, nodes, rng
        self.first, self.second, self.cut_node = rng.sample(list(wire.nodes), 3)
        self.judge = WaitsJudge(wire, self.cut_node)
        self.dead, self.restarted = None, None
        self.pipelines, self.values = [], count(1)
        self.main, self.gone, self.again, self.strict = (wire.name(what) for what in ("main", "gone", "again", "set"))
        self.parts = self._made()
        self.txn = wire.producer(wire.name("x"), timeout_ms=300_000)
        self._filled()
        self.producers = [wire.producer() for _ in range(24)]

    def _made(self):
        """The topics, each partition led by the first of its replicas."""
        a, b, c = self.first, self.second, self.cut_node
        main = [
            ([a, b, c], STAYS), ([a, b, c], ELECTED), ([a, b, c], TAKEN), ([b, a, c], STAYS),
            ([c, a, b], ELECTED), ([c, b, a], STAYS), ([a, b, c], STAYS), ([b, a, c], STAYS),
            ([a, b, c], SHRUNK),
        ]  # fmt: skip
        self.rng.shuffle(main)
        plans = {
            self.main: main,
            self.gone: [([a, b, c], GONE), ([b, a, c], GONE)],
            self.again: [([a, b, c], AGAIN)],
            self.strict: [([a, b, c], STRICT), ([b, c, a], STRICT)],
            self.wire.name("two"): [([a, b], WHOLE), ([b, a], WHOLE)],
            self.wire.name("lone"): [([c], WHOLE)],
        }
        parts = []
        for topic, rows in plans.items():
            self._makes(topic, [order for order, _ in rows])
            parts += [WaitedPart(topic, index, order, fate) for index, (order, fate) in enumerate(rows)]
        for topic in plans:
            self.wire.await_topic(topic)
        return parts

    def _makes(self, topic, orders):
        answer = self.wire.create_topic(topic, partitions=-1, assignments=dict(enumerate(orders)), configs=SETTINGS)
        if answer.error in (errors.UNSUPPORTED_VERSION, errors.INVALID_REQUEST, errors.INVALID_REPLICA_ASSIGNMENT):
            self.wire.not_applicable("the broker places partitions by itself", "unsupported")
        answer.must_succeed()

    def _filled(self):
        """Some records everywhere, and an open transaction in two partitions that stay; everyone knows that much."""
        for part in self.parts:
            values = [f"{next(self.values)}" for _ in range(NODE_STARTS)]
            self.wire.produce(part.place[0], batch(*values), part.place[1]).must_be_at(0)
            part.held = [value.encode() for value in values]
        for leader in (self.first, self.second):
            part = next(one for one in self.parts if one.fate == STAYS and one.first == leader)
            value = f"{next(self.values)}"
            part.stable = self.txn.send(part.place[0], value, partition=part.place[1]).must_be_at(NODE_STARTS).offset
            part.held.append(value.encode())
        for node in self.wire.nodes:
            self.wire.until(
                lambda node=node: self._knows_ends(node), within=WITHIN_S, what=f"node {node} knows the ends"
            )

    def _knows_ends(self, node):
        rows = {part: (len(part.held), -1) for part in self.parts if node in part.order}
        waiter = Waiter(node, rows)
        waiter.ids = {self.wire.topic_id(part.place[0]): part.place[0] for part in rows}
        waiter.response = self.wire.ask(fetches(self.wire, rows, 0, committed=False), to=node)
        waiter.api, waiter.version = "Fetch", waiter.response.version
        answers = waiter.answers()
        if any(row.error_code == errors.NOT_LEADER_OR_FOLLOWER for _, row, _ in answers):
            self.wire.not_applicable("followers do not serve consumers")
        return all(not row.error_code and row.high_watermark >= len(part.held) for part, row, _ in answers)

    # who waits

    def begins_to_wait(self):
        """Requests to each leader and to followers; one of each kind for each partition to which something happens."""
        lag = self.wire.setting(LAG)
        self.judge.in_sync_until_ms = self.wire.now_ms() + int(lag) - 500 if lag else 0
        self.judge.cut = True
        makers = []
        for node in (self.first, self.second, self.cut_node):
            led = [part for part in self.parts if part.first == node]
            near = [part for part in self.parts if node in part.order and part.first != node]
            news = [part for part in led if part.fate not in (WHOLE, STAYS)]
            for part in [*news, self.rng.choice([part for part in led if part.fate == STAYS])]:
                makers += self._of_any_kind(node, part, led)
                if part.fate in (*MOVES, *DELETED):
                    makers += self._of_newest(node, part, led)
                if part.fate == STAYS:
                    rows = [part, *[one for one in led if one.fate == WHOLE]]
                    makers += [(kind, node, rows, {"wait_ms": SHORT_MS}) for kind in (self._produces, self._deletes)]
            makers += [(self._reads, node, self._with_others(part, near), {}) for part in self.rng.sample(near, 3)]
            stable = [part for part in near if part.stable]
            makers += [(self._reads, node, [part], {"committed": True}) for part in stable]
            if node != self.cut_node:  # it leads some of these next
                moving = [part for part in near if part.fate in MOVES]
                makers += [(self._reads, node, [part], {"wait_ms": LONG_MS}) for part in moving]
        self.rng.shuffle(makers)
        for make, node, rows, how in makers:
            make(node, rows, **how)

    def _of_any_kind(self, node, part, led):
        """A request of each API, alone or with other partitions, as is drawn."""
        kinds = [self._produces, self._reads, *([self._deletes] if self.rng.random() < 0.6 else [])]
        return [(kind, node, self._with_others(part, led), {}) for kind in kinds]

    def _of_newest(self, node, part, led):
        """Those that are decided by what happens to this partition alone, and say the most about it."""
        whole = [one for one in led if one.fate == WHOLE]
        unseen = [one for one in led if one.fate == STRICT]
        sure = {"wait_ms": LONG_MS, "newest": True}
        return [
            (self._produces, node, [part, *whole], sure),
            (self._deletes, node, [*whole, part], {**sure, "wait_ms": SOME_MS}),
            (self._reads, node, [*unseen, part], {**sure, "committed": False}),
        ]

    def _with_others(self, part, others):
        others = [one for one in others if one is not part]
        more = self.rng.sample(others, min(len(others), self.rng.choice((0, 0, 1, 2, 3))))
        rows = [part, *more]
        self.rng.shuffle(rows)
        return rows

    def _pipeline(self, node):
        line = WaitingLine(self.wire, node, f"waits {len(self.pipelines)} {self.main}")
        self.pipelines.append(line)
        return line

    def _wait_ms(self):
        return self.rng.choice((LONG_MS, LONG_MS, LONG_MS, SHORT_MS))

    def _version(self, api, lowest):
        return self.rng.choice([version for version in self.wire.versions(api) if version >= lowest])

    def _produces(self, node, rows, wait_ms=0, newest=False):
        line, producer = self._pipeline(node), self.producers.pop()
        waiter = Waiter(node, {part: self._write(part, producer) for part in rows}, wait_ms or self._wait_ms())
        version = self._version("Produce", NAMES_LEADERS["Produce"] if newest else 3)
        waiter.goes(self.wire, line, produces(self.wire, waiter.rows, waiter.wait_ms), version)
        stay = [part for part in rows if part.fate in (STAYS, ELECTED, WHOLE)]
        if stay and self.rng.random() < 0.5:
            part = self.rng.choice(stay)
            more = Waiter(node, {part: self._write(part, producer, waiter.rows[part])}, LONG_MS)
            more.behind = True
            more.goes(self.wire, line, produces(self.wire, more.rows, LONG_MS), self._version("Produce", 3))
        self._asks_behind(line)

    def _write(self, part, producer, after=None):
        value = f"{next(self.values)}"
        write = WaitedWrite(value.encode(), producer.batch(value, sequence=int(after is not None)), after)
        part.writes.append(write)
        return write

    def _reads(self, node, rows, wait_ms=0, newest=False, committed=None):
        """With the leader's epoch or without; at a follower without, which is what it knows."""
        leads = all(part.first == node for part in rows)
        waiter = Waiter(node, {}, wait_ms or self._wait_ms())
        waiter.committed = self.rng.random() < 0.4 if committed is None else committed
        version = self._version("Fetch", NAMES_LEADERS["Fetch"] if newest else 4 if leads else FROM_FOLLOWERS)
        waiter.epochs = leads and version >= 9 and (newest or self.rng.random() < 0.4)
        for part in rows:
            epoch = self.wire.known_epoch(*part.place) if waiter.epochs else -1
            waiter.rows[part] = (part.stable if waiter.committed and part.stable else len(part.held), epoch)
        asked = fetches(self.wire, waiter.rows, waiter.wait_ms, committed=waiter.committed)
        line = self._pipeline(node)
        waiter.goes(self.wire, line, asked, version)
        self._asks_behind(line)

    def _deletes(self, node, rows, wait_ms=0, newest=False):
        waiter = Waiter(node, {part: self.rng.randint(1, NODE_STARTS) for part in rows})
        waiter.wait_ms = wait_ms or self.rng.choice((SOME_MS, SHORT_MS))
        for part, offset in waiter.rows.items():
            part.cuts.add(offset)
        line = self._pipeline(node)
        version = self.wire.versions("DeleteRecords")[-1] if newest else self._version("DeleteRecords", 0)
        waiter.goes(self.wire, line, deletes(waiter.rows, waiter.wait_ms), version)
        self._asks_behind(line)

    def _asks_behind(self, line):
        """Another request in the pipeline, which must be answered behind the one that waits."""
        asked = self.rng.choice(
            (None, request("Metadata", topics=[]), request("DescribeCluster"), request("ListGroups"))
        )
        if asked is not None and self.wire.versions(asked._api):
            Waiter(line.node, {}).goes(self.wire, line, asked, self.wire.versions(asked._api)[-1])
