"""Coordinators whose logs go from node to node while one node replicates nothing, and who waits there."""

from itertools import islice

from brokertrial.suites.cases.groups._waits_at import (
    CommitsThatWait,
    ConsumersWhoWait,
    MembersWhoWait,
    TransactionThatWaits,
)
from brokertrial.suites.cases.replication._handing_over import STATE_TOPIC, must_not_be_known_to
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead, shown
from brokertrial.suites.cases.replication._roles import placed
from brokertrial.suites.cases.replication._waiters import Pipeline
from brokertrial.suites.probe import COMMITTED, rebalance
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, names_in
from brokertrial.wire import errors
from brokertrial.wire.messages import request

GROUP, TRANSACTION = 0, 1
ANSWERED_S, WITHIN_S, TAKES_A_MOMENT_S = 12, 60, 0.3
ALONE = {"min.insync.replicas": "1"}
SOON_GONE = {"session_timeout_ms": 3_000, "rebalance_timeout_ms": 3_000}
EXPIRES_S = 15
ELECTED, TAKEN, DIES, STOPS = "elected", "taken", "dies", "stops"


class MovedCoordinators:
    """One partition of each log moves; of each another one stays, unless its node goes."""

    def __init__(self, wire, nodes, rng, topic_of):
        self.wire, self.nodes, self.rng, self.pipelines = wire, nodes, rng, []
        self.names = {GROUP: [], TRANSACTION: []}
        self.logs = {}
        for kind, log in ((GROUP, OFFSETS_TOPIC), (TRANSACTION, STATE_TOPIC)):
            wire.coordinator(wire.name("first"), kind)
            (row,) = wire.metadata(log, to=wire.controller()).struct.topics or [None]
            if row is None or len(row.partitions) < 2:
                wire.not_applicable(f"{log} does not have several partitions")
            if any(len(part.replica_nodes) < len(wire.nodes) for part in row.partitions):
                wire.not_applicable(f"{log} is not on each node")
            moves, stays = rng.sample(range(len(row.partitions)), 2)
            self.logs[kind] = (log, moves, stays, len(row.partitions))
        self.topic = topic_of(what="committed", partitions=2)
        self.placed(*rng.sample(list(wire.nodes), 3))
        self.kept = [
            CommitsThatWait(self, self._name(GROUP), self.topic),
            MembersWhoWait(self, self._name(GROUP), self.topic),
            *(TransactionThatWaits(self, self._name(TRANSACTION), self._name(GROUP), self.topic) for _ in range(4)),
        ]
        if wire.versions("ConsumerGroupHeartbeat") and wire.features.get("group.version", 0):
            self.kept += [ConsumersWhoWait(self, self._name(GROUP), topic_of(what=f"c{n}", partitions=2)) for n in "ab"]
        self.beside = wire.producer(self._name(TRANSACTION, stays=True), timeout_ms=300_000)

    @property
    def of_transactions(self):
        return TRANSACTION

    def _name(self, kind, *, stays=False):
        """One that lies in the partition that moves, or in the one that stays."""
        _, moves, other, count = self.logs[kind]
        (name,) = islice(names_in(self.wire, other if stays else moves, count), 1)
        self.names[kind].append(name)
        return name

    def placed(self, first, second, cut_node):
        """The first leads all that this is about, and the second is next."""
        self.first, self.second, self.cut_node = first, second, cut_node
        order = [first, second, cut_node]
        for log, moves, stays, _ in self.logs.values():
            for index in (moves, stays):
                comes_to_lead(self.wire, log, order, first, index)
                self._all_in_sync(log, index, order)
        self._look_up()

    def _all_in_sync(self, log, index, order):
        for node in self.wire.nodes:
            self.wire.until(
                lambda node=node: self._is_on(log, index, order, node),
                within=WITHIN_S,
                what=f"{log}-{index} is on {order}",
            )

    def _is_on(self, log, index, order, node):
        row = shown(self.wire, log, node, index)
        return row.leader_id == order[0] and sorted(row.isr_nodes) == sorted(order)

    def _look_up(self):
        for kind, key in self.wire.known_coordinators:
            self.wire.forget_coordinator(key, kind)

    def data(self, what):
        """A topic on the node that is next, or, where what is decided shall wait, on the one that is cut off."""
        return placed(self.wire, what, [self.cut_node if self.late else self.second], **ALONE)

    def pipeline(self, name, kind=GROUP):
        line = Pipeline(self.wire, self.first, f"waits {len(self.pipelines)} {name}")
        self.pipelines.append(line)
        return line

    # one round

    def begins(self, event):
        """All goes well; beside what will be moved are a member that falls silent and a transaction."""
        self.event, self.late, self.pipelines = event, self.rng.random() < 0.4, []
        self._look_up()
        for one in self.kept:
            one.prepares()
        silent = self.wire.name("silent")
        _, _, stays, count = self.logs[GROUP]
        (silent,) = islice(names_in(self.wire, stays, count), 1)
        self.silent = silent
        rebalance(self.wire.member(silent, f"of {silent}", **SOON_GONE))
        self.there = placed(self.wire, "there", [self.cut_node], **ALONE)
        self.beside.send(self.there, "beside").must_succeed()

    def asks(self):
        for one in self.rng.sample(self.kept, len(self.kept)):
            one.asks()
        if self.late:
            self._is_left_out()
        else:
            self.wire.rest(TAKES_A_MOMENT_S)

    def _is_left_out(self):
        """The others go on without it, so that much is acknowledged, and what it leads is waited for."""
        self.beside.commit().must_succeed()
        for log, moves, _, _ in self.logs.values():
            self.wire.until(
                lambda log=log, index=moves: self.cut_node not in shown(self.wire, log, self.first, index).isr_nodes,
                within=WITHIN_S,
                what=f"node {self.cut_node} is left out of {log}-{moves}",
            )

    def moves(self):
        """The coordinator of what waits is another node."""
        if self.event in (DIES, STOPS):
            (self.nodes.kill if self.event == DIES else self.nodes.terminate)(self.first)
            parts = [(log, index) for log, *both, _ in self.logs.values() for index in both]
        else:
            parts = [(log, moves) for log, moves, _, _ in self.logs.values()]
            order = [self.second] if self.event == TAKEN else [self.second, self.first, self.cut_node]
            for log, index in parts:
                comes_to_lead(self.wire, log, order, self.second, index)
        for node in (self.second, self.cut_node, *([] if self.event in (DIES, STOPS) else [self.first])):
            for log, index in parts:
                self.wire.until(
                    lambda node=node, log=log, index=index: shown(self.wire, log, node, index).leader_id == self.second,
                    within=WITHIN_S,
                    what=f"node {node} knows that node {self.second} leads {log}-{index}",
                )
        self._all_are_answered()

    def _all_are_answered(self):
        """In time, in order, once; or their connection is closed with its node."""
        for line in self.pipelines:
            while line.waiting and not line.closed:
                waiter = line.waiting[0]
                if line.take(ANSWERED_S + self.wire.slack_s) is None:
                    self._is_missing(line, waiter)
                    break
                code = waiter.response.error
                waiter.response.must(
                    code in (0, *waiter.codes),
                    f"at a coordinator that goes it is answered with {errors.name(code)} ({code}); it must be done, or "
                    f"refused with one of {waiter.codes}",
                    "error_code",
                )
            line.ends()

    def _is_missing(self, line, waiter):
        exchange = waiter.response.asked
        how = "its connection is closed" if line.closed else "it is not answered"
        self.wire.too_late(
            f"{waiter.api} v{waiter.version} waits at node {line.node}, which coordinates it no more: {how}",
            exchange.evidence(),
            (exchange.number,),
            waiter.api,
        )

    def comes_together(self):
        """All nodes are there, and the one before knows nothing any more."""
        if self.event in (DIES, STOPS):
            self.nodes.start(self.first)
        for log, moves, _, _ in self.logs.values():
            if self.event == TAKEN:
                comes_to_lead(self.wire, log, [self.second, self.first, self.cut_node], self.second, moves)
        for log, *both, _ in self.logs.values():
            for index in both:
                self.wire.until(
                    lambda log=log, index=index: self._is_whole(log, index), within=WITHIN_S, what="all are in sync"
                )
        self._look_up()
        if shown(self.wire, OFFSETS_TOPIC, self.second, self.logs[GROUP][1]).leader_id == self.second:
            self._must_be_gone()

    def _is_whole(self, log, index):
        return all(
            len(shown(self.wire, log, node, index).isr_nodes) == len(self.wire.nodes) for node in self.wire.nodes
        )

    def _must_be_gone(self):
        """From the node that coordinated it before."""
        group = self.kept[1]
        who = {"generation_id": group.generation, "member_id": group.members[0].id}
        for asked in (request("Heartbeat", group_id=group.name, **who), request("DescribeGroups", groups=[group.name])):
            must_not_be_known_to(self.wire, self.first, asked, _codes)

    def goes_on(self):
        """What was acknowledged is there, what was refused is asked again; what is beside goes on as well."""
        for one in self.rng.sample(self.kept, len(self.kept)):
            one.goes_on()
        if not self.late:
            self.beside.commit().must_succeed()
        self.wire.await_settled(self.there, within=WITHIN_S)
        self.wire.read_all(self.there, isolation=COMMITTED).must_hold("beside")
        self.wire.until(self._has_expired, within=EXPIRES_S, what=f"the silent member of {self.silent} is expelled")

    def _has_expired(self):
        described = self.wire.describe_group(self.silent).must_succeed()
        return described.at("groups[0].group_state") == "Empty"


def _codes(answer):
    groups = getattr(answer, "groups", None)
    return [answer.error_code] if groups is None else [row.error_code for row in groups]
