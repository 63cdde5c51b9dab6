"""Coordinators whose logs go from node to node while one node replicates nothing, and who waits there."""

from itertools import islice
from typing import Any

from brokertrial.suites.cases.groups._waits_at import (
    COMES,
    EMPTIED,
    GOES,
    GROWS,
    JOINING,
    LEFT,
    SYNCING,
    UNSYNCED,
    CommitsThatWait,
    ConsumersWhoWait,
    MembersWhoWait,
)
from brokertrial.suites.cases.groups._waits_transactions import WAYS, TransactionThatWaits
from brokertrial.suites.cases.replication._handing_over import STATE_TOPIC, must_not_be_known_to
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead, shown
from brokertrial.suites.cases.replication._roles import placed
from brokertrial.suites.cases.replication._waiters import WaitingLine
from brokertrial.suites.probe import COMMITTED, rebalance
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, make_coordinator_write, names_in
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

GROUP, TRANSACTION = 0, 1
ANSWERED_S, WITHIN_S, TAKES_A_MOMENT_S = 12, 60, 0.3
LAG, A_MOMENT_S = "replica.lag.time.max.ms", 0.03
ALONE = {"min.insync.replicas": "1"}
SOON_GONE = {"session_timeout_ms": 3_000, "rebalance_timeout_ms": 3_000}
EXPIRES_S = 20
OF_GROUPS = ("JoinGroup", "SyncGroup", "Heartbeat", "ConsumerGroupHeartbeat", "OffsetCommit", "OffsetFetch")
OF_TRANSACTIONS = ("EndTxn", "InitProducerId", "AddPartitionsToTxn", "TxnOffsetCommit")
ANSWERED = dict.fromkeys(OF_GROUPS, ("grp-016",)) | dict.fromkeys(OF_TRANSACTIONS, ("txn-021",))
"""What is broken where who waits is not answered in time, or so that no client knows what to do."""
DONE = ANSWERED | {
    "OffsetCommit": ("cmt-002",),
    "ConsumerGroupHeartbeat": ("g848-011",),
    "TxnOffsetCommit": ("txn-012",),
    "EndTxn": ("txn-011",),
}
"""What is broken where it is acknowledged, and may be lost."""
ELECTED, TAKEN, DIES, STOPS = "elected", "taken", "dies", "stops"


class MovedCoordinators:
    """One partition of each log moves; of each another one stays, unless its node goes."""

    def __init__(self, wire, nodes, rng, topic_of):
        self.wire, self.nodes, self.rng, self.pipelines = wire, nodes, rng, []
        self.names: dict[int, list[str]] = {GROUP: [], TRANSACTION: []}
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
        self.kept: list[Any] = [
            CommitsThatWait(self, self._name(GROUP), self.topic),
            MembersWhoWait(self, self._name(GROUP), self.topic, (SYNCING, JOINING)),
            MembersWhoWait(self, self._name(GROUP), self.topic, (UNSYNCED, EMPTIED)),
        ]
        for hows in zip(rng.sample(WAYS, len(WAYS)), rng.sample(WAYS, len(WAYS)), strict=True):
            who = self._name(TRANSACTION), self._name(GROUP)
            self.kept.append(TransactionThatWaits(self, *who, self.topic, hows))
        if wire.versions("ConsumerGroupHeartbeat") and wire.features.get("group.version", 0):
            for hows in ((COMES, GROWS), (LEFT, GOES)):
                topic = topic_of(what=hows[0], partitions=2)
                self.kept.append(ConsumersWhoWait(self, self._name(GROUP), topic, hows))
        self.beside = wire.producer(self._name(TRANSACTION, stays=True), timeout_ms=60_000)

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
        self._settled()

    @breaks("grp-016")
    def _settled(self):
        """The coordinators have read their logs to the end (suites/probe/coordinator_writes.py)."""
        self._look_up()
        for name in self.names[GROUP]:
            self.wire.describe_group(name).examined = True  # asked again until it serves
        if self.names[GROUP]:
            make_coordinator_write(self.wire, self.names[GROUP][0])

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
        line = WaitingLine(self.wire, self.first, f"waits {len(self.pipelines)} {name}")
        self.pipelines.append(line)
        return line

    # one round

    def begins(self, event, late):
        """All goes well; beside what will be moved are a member that falls silent and a transaction."""
        self.event, self.late, self.pipelines = event, late, []
        self._look_up()
        for one in self.kept:
            one.prepares()
        _, _, stays, count = self.logs[GROUP]
        (silent,) = islice(names_in(self.wire, stays, count), 1)
        self.silent = silent
        self.wire.describe_group(silent).examined = True
        rebalance(self.wire.member(silent, f"of {silent}", **SOON_GONE))
        self.there = placed(self.wire, "there", [self.cut_node], **ALONE)
        self.beside.send(self.there, "beside").must_succeed()

    def _joins_beside(self):
        """Who joins the silent member in another partition of the log is in a generation when that one is expelled."""
        line = self.pipeline(f"joins {self.silent}")
        protocols = [{"name": "range", "metadata": b""}]
        who = {"group_id": self.silent, "member_id": "", "protocol_type": "consumer", "protocols": protocols}
        return self.kept[1].ask(line, request("JoinGroup", **who, **SOON_GONE), up_to=3, since=1)

    def asks(self):
        lag = self.wire.setting(LAG)
        self.in_sync_until_ms = self.wire.now_ms() + int(lag) - 700 if lag else 0
        for one in self.rng.sample(self.kept, len(self.kept)):
            one.asks()
        self._joins_beside()
        if self.late:
            self._is_left_out()
        else:
            self.wire.rest(TAKES_A_MOMENT_S)
            self._must_wait()

    def _must_wait(self):
        """What is acknowledged already, or returned, a replica in sync has not."""
        for line in self.pipelines:
            while line.waiting and self.wire.now_ms() < self.in_sync_until_ms:
                waiter = line.waiting[0]
                if line.take(A_MOMENT_S) is None:
                    break
                self._is_answered(waiter)
                early = self.wire.now_ms() < self.in_sync_until_ms
                alone = (
                    f"it is done, and node {self.cut_node}, a replica of the coordinator's log in sync, knows nothing"
                )
                with breaks(*DONE[waiter.api]):
                    waiter.response.must(not (early and waiter.writes and waiter.acknowledged), alone)
                if early and waiter.returns is not None and waiter.acknowledged:
                    rows = waiter.response.struct
                    rows = rows.groups[0].topics if waiter.version >= 8 else rows.topics
                    found = {part.committed_offset for row in rows for part in row.partitions}
                    with breaks("cmt-017"):
                        said = f"it returns {found}; every replica has {waiter.returns} alone"
                        waiter.response.must(found == {waiter.returns}, said)

    @breaks("txn-021")
    def _is_left_out(self):
        """The others go on without it, so that much is acknowledged, and what it leads is waited for."""
        self.beside.commit().must_succeed()
        for log, moves, _, _ in self.logs.values():
            self.wire.until(
                lambda log=log, index=moves: self.cut_node not in shown(self.wire, log, self.first, index).isr_nodes,
                within=WITHIN_S,
                what=f"node {self.cut_node} is left out of {log}-{moves}",
            )

    @breaks("grp-016")
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
                self._is_answered(waiter)
            line.ends()

    def _is_answered(self, waiter):
        code = waiter.response.error
        with breaks(*ANSWERED[waiter.api]):
            waiter.response.must(
                code in (0, *waiter.codes),
                f"at a coordinator that goes it is answered with {errors.name(code)} ({code}); it must be done, or "
                f"refused with one of {waiter.codes}",
                "error_code",
            )

    def _is_missing(self, line, waiter):
        exchange = waiter.response.asked
        how = "its connection is closed" if line.closed else "it is not answered"
        with breaks(*ANSWERED[waiter.api]):
            self.wire.too_late(
                f"{waiter.api} v{waiter.version} waits at node {line.node}, which coordinates it no more: {how}",
                exchange.evidence(),
                (exchange.number,),
                waiter.api,
            )

    @breaks("grp-016")
    def comes_together(self):
        """All nodes are there, and the one before knows nothing any more."""
        died = self.event in (DIES, STOPS)
        if died:
            self.nodes.start(self.first)
            for log, *both, _ in self.logs.values():
                for index in both:
                    self.wire.until(
                        lambda log=log, index=index: self._is_whole(log, index), within=WITHIN_S, what="all are in sync"
                    )
        order = [self.second, self.first, self.cut_node]
        for log, moves, stays, _ in self.logs.values():
            for index in (moves, stays) if died else (moves,):
                comes_to_lead(self.wire, log, order, self.second, index)  # so that no node is given it back by itself
                self._all_in_sync(log, index, order)
        self._settled()
        self._must_be_gone()

    def _is_whole(self, log, index):
        return all(
            len(shown(self.wire, log, node, index).isr_nodes) == len(self.wire.nodes) for node in self.wire.nodes
        )

    @breaks("grp-016")
    def _must_be_gone(self):
        """From the node that coordinated it before."""
        group = self.kept[1]
        who = {"generation_id": group.generation, "member_id": group.members[0].id}
        for asked in (request("Heartbeat", group_id=group.name, **who), request("DescribeGroups", groups=[group.name])):
            must_not_be_known_to(self.wire, self.first, asked, _codes)

    @breaks("txn-021")
    def goes_on(self):
        """What was acknowledged is there, what was refused is asked again; what is beside goes on as well."""
        for one in self.rng.sample(self.kept, len(self.kept)):
            with self.wire.the_subject():
                one.goes_on()
        if not self.late:
            self.beside.commit().must_succeed()
        self.wire.await_settled(self.there, within=WITHIN_S)
        self.wire.read_all(self.there, isolation=COMMITTED).must_hold("beside")
        self.wire.until(self._has_expired, within=EXPIRES_S, what=f"the silent member of {self.silent} is expelled")

    @breaks("grp-011")
    def _has_expired(self):
        described = self.wire.describe_group(self.silent).must_succeed()
        return described.at("groups[0].group_state") == "Empty"


def _codes(answer):
    groups = getattr(answer, "groups", None)
    return [answer.error_code] if groups is None else [row.error_code for row in groups]
