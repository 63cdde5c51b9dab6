"""A whole cluster in one process on virtual time: the real controller, leaders and followers, a network made of a list.

Every step is chosen by one seeded random stream: time passes, messages arrive or are lost, brokers die and return,
clients write, leadership moves. Nothing here waits or sleeps; a seed is a whole history.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from brokertrial.reference_impl.clock import ManualClock
from brokertrial.reference_impl.control.controller import Controller
from brokertrial.reference_impl.control.image import NOBODY
from brokertrial.reference_impl.control.journal import MetadataJournal
from brokertrial.reference_impl.log.recovery import open_log
from brokertrial.reference_impl.log.validate import Rejected
from brokertrial.reference_impl.replica.following import Following
from brokertrial.reference_impl.replica.leading import Proposal
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.reference_impl.replica.serving import FollowerSession, as_response
from brokertrial.reference_impl.replica.waiting import LogPosition, mark
from brokertrial.reference_impl.settings.config import BrokerConfig, TopicRules
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct
from brokertrial.wire.records import Record, batches, build_batch

TOPIC, BROKERS = "t", (1, 2, 3)
MAX_LAG_S = 1.0
SETTINGS = {"min.insync.replicas": "2", "broker.session.timeout.ms": "500", "broker.reconnect.grace.ms": "100"}


@dataclass
class Broker:
    """One broker: its copy of the metadata, one partition, one connection to its leader."""

    id: int
    partition: Partition
    journal: MetadataJournal
    epoch: int = -1
    incarnation: int = 0
    alive: bool = True
    following: dict[int, Following] = field(default_factory=dict)
    waiting: set[int] = field(default_factory=set)  # leaders whose answer is on its way
    sessions: dict[int, FollowerSession] = field(default_factory=dict)
    proposal: Proposal | None = None


@dataclass
class Acked:
    """A record that a client was promised."""

    offset: int
    value: bytes


class Cluster:
    """Three brokers, one partition, one controller. `step` does one random thing."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.clock = ManualClock()
        self._folder = folder
        self.config = BrokerConfig(data=folder, settings=dict(SETTINGS))
        self.journal = MetadataJournal(None)
        self.controller = Controller(self.journal, self.config, self.clock)
        self.brokers: dict[int, Broker] = {}
        self.messages: list[tuple[Broker, int, Callable[[], None]]] = []
        self.open: list[tuple[LogPosition, Acked]] = []
        self.acked: list[Acked] = []
        self.leaders: dict[int, int] = {}  # leader epoch -> the broker that led in it
        self.counts = dict.fromkeys(("elections", "crashes", "truncations", "isr changes"), 0)
        self._written = 0
        for broker in BROKERS:
            self.controller.register(broker, f"{broker}-0", "h", broker)
            self.controller.heartbeat(broker, self.journal.end - 1, 1 << 60, stop=False)
        self.controller.create_topic(TOPIC, [list(BROKERS)], {}, internal=False)
        self.topic = self.journal.image.topics[TOPIC]
        for broker in BROKERS:
            self._boot(broker, 0)

    # Brokers

    def _boot(self, broker: int, incarnation: int) -> None:
        rules = TopicRules.of(self.config, {})
        log = open_log(self._folder / str(broker), rules.log, self.clock.now_ms(), clean=False)
        log.folder.mkdir(exist_ok=True)
        partition = Partition(TOPIC, 0, log, rules, self.clock, broker, self.topic.id)
        made = Broker(broker, partition, MetadataJournal(None), incarnation=incarnation)
        self.brokers[broker] = made
        for _ in range(self.journal.end):
            self._read_metadata(made, settle=False)
        made.epoch = self.controller.register(broker, f"{broker}-{incarnation}", "h", broker)

    def _read_metadata(self, broker: Broker, *, settle: bool = True) -> None:
        """One record of the metadata log reaches a broker."""
        if broker.journal.end >= self.journal.end:
            return
        broker.journal.follow(self.journal.texts[broker.journal.end])
        if not settle or TOPIC not in broker.journal.image.topics:
            return
        partition = broker.partition
        before = partition.leader_epoch
        partition.settle(broker.journal.image.topics[TOPIC].placements[0])
        if partition.leader_epoch == before:
            return
        broker.proposal = None
        if partition.leading is not None:
            self.counts["elections"] += 1
            known = self.leaders.setdefault(partition.leader_epoch, broker.id)
            assert known == broker.id, f"brokers {known} and {broker.id} both lead in epoch {partition.leader_epoch}"
            if partition.leader_epoch == self.topic.placements[0].leader_epoch:  # else it is deposed, and does not know
                self.check_leader(partition)
        for following in broker.following.values():
            following.leave((self.topic.id, 0))
        if partition.leading is None and partition.leader_id != NOBODY:
            self._following(broker, partition.leader_id).follow((self.topic.id, 0), partition)

    def _following(self, broker: Broker, leader: int) -> Following:
        return broker.following.setdefault(leader, Following(broker.id, 100))

    def crash(self, broker: Broker) -> None:
        """kill -9: memory and connections are gone, files stay."""
        self.counts["crashes"] += 1
        broker.alive = False
        broker.partition.log.close(clean=False)
        self.messages = [one for one in self.messages if one[0] is not broker]
        self.controller.disconnected(broker.id, broker.epoch)
        for other in self.brokers.values():
            if broker.id in other.following:
                other.following[broker.id].restart()
                other.waiting.discard(broker.id)
            session = other.sessions.pop(broker.id, None)
            if session is not None:
                session.close()

    # The network: a message belongs to the broker that waits for its effect, and to that broker's incarnation

    def _send(self, broker: Broker, arrive: Callable[[], None]) -> None:
        self.messages.append((broker, broker.incarnation, arrive))

    def _deliver(self, lost: bool) -> None:
        if not self.messages:
            return
        broker, incarnation, arrive = self.messages.pop(self.rng.randrange(len(self.messages)))
        if not broker.alive or broker.incarnation != incarnation:
            return
        if lost:
            self._connection_lost(broker)
            return
        arrive()

    def _connection_lost(self, broker: Broker) -> None:
        for leader, following in broker.following.items():
            following.restart()
            broker.waiting.discard(leader)
        self.messages = [one for one in self.messages if one[0] is not broker]
        broker.proposal = None  # what is proposed stays proposed, and is sent again

    def _fetch(self, broker: Broker) -> None:
        for leader, following in broker.following.items():
            if len(following) and leader not in broker.waiting:
                broker.waiting.add(leader)
                asked = following.request(broker.epoch, self.clock.monotonic())
                self._send(broker, partial(self._fetched, broker, leader, asked))

    def _fetched(self, broker: Broker, leader: int, asked: Struct) -> None:
        server = self.brokers[leader]
        if not server.alive:
            self._connection_lost(broker)
            return
        session = server.sessions.get(broker.id)
        if asked.session_epoch == 0:
            if session is not None:
                session.close()
            session = FollowerSession(1, broker.id, broker.epoch, partial(self._led, server))
            server.sessions[broker.id] = session
        if session is None or session.epoch != asked.session_epoch:
            self._connection_lost(broker)
            return
        session.update(asked)
        self._send(broker, partial(self._answered, broker, leader, as_response(1, session.collect(1 << 20))))

    def _answered(self, broker: Broker, leader: int, answer: Struct) -> None:
        broker.waiting.discard(leader)
        end = broker.partition.log.end_offset
        broker.following[leader].take(answer, self.clock.monotonic())
        self.counts["truncations"] += broker.partition.log.end_offset < end

    def _led(self, broker: Broker, _: Any, index: int) -> Partition | int:
        return broker.partition if broker.partition.leading is not None else errors.NOT_LEADER_OR_FOLLOWER

    def _propose(self, broker: Broker) -> None:
        leading = broker.partition.leading
        if leading is None or broker.proposal is not None:
            return
        alive = {(one.id, one.epoch) for one in broker.journal.image.brokers.values() if one.eligible}
        proposal = leading.proposed or broker.partition.propose(MAX_LAG_S, alive)
        if proposal is not None:
            broker.proposal = proposal
            self._send(broker, partial(self._altered, broker, proposal, broker.partition.leader_epoch))

    def _altered(self, broker: Broker, proposal: Proposal, epoch: int) -> None:
        members = list(zip(proposal.isr, proposal.broker_epochs, strict=True))
        error = self.controller.alter_isr(
            broker.id, broker.epoch, self.topic.id, 0, epoch, proposal.partition_epoch, members
        )
        self.counts["isr changes"] += error == errors.NONE
        self._send(broker, partial(self._told, broker, proposal, error))

    def _told(self, broker: Broker, proposal: Proposal, error: int) -> None:
        leading = broker.partition.leading
        broker.proposal = None
        wrong = (errors.INVALID_REQUEST, errors.INELIGIBLE_REPLICA)
        if error in wrong and leading is not None and leading.proposed is proposal:
            leading.refused()

    # Clients

    def _produce(self, broker: Broker) -> None:
        """acks=all to whoever believes that it leads."""
        self._written += 1
        value = b"%d" % self._written
        batch = build_batch([Record(key=None, value=value, timestamp=self.clock.now_ms())])
        try:
            done = broker.partition.append(memoryview(batch), 9, -1)
        except Rejected:
            return
        self.open.append((mark(broker.partition, done.end_offset), Acked(done.base_offset, value)))

    def _answer_clients(self) -> None:
        still = []
        for where, record in self.open:
            state = where.state()
            if state in (errors.NONE, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND):
                self.acked.append(record)
            elif state is None and self.brokers[where.partition._me].partition is where.partition:
                still.append((where, record))
        self.open = still

    # Steps

    def step(self, faults: bool = True) -> None:
        """One random thing."""
        alive = [one for one in self.brokers.values() if one.alive]
        broker = self.rng.choice(alive) if alive else None
        kind = self.rng.random()
        if broker is None or kind < 0.12:
            self._pass_time(0.02)
        elif kind < 0.30:
            self._read_metadata(broker)
        elif kind < 0.50:
            self._fetch(broker)
        elif kind < 0.75:
            self._deliver(lost=False)
        elif kind < 0.80:
            self._propose(broker)
        elif kind < 0.96:
            self._produce(broker)
        elif faults:
            self._hurt(broker, self.rng.random())
        if not alive or self.rng.random() < 0.01:
            self._restart_one()
        self._answer_clients()

    def _hurt(self, broker: Broker, kind: float) -> None:
        if kind < 0.12:
            self.crash(broker)
        elif kind < 0.5:
            self._deliver(lost=True)
        elif kind < 0.6:
            self.controller.move_leader(self.topic, 0, self.rng.choice(BROKERS))
        elif kind < 0.65:
            self.controller.tick()
            self._pass_time(0.6, silent=broker)  # a pause: the controller believes that it is dead

    def _pass_time(self, seconds: float, silent: Broker | None = None) -> None:
        self.clock.advance(seconds)
        for broker in self.brokers.values():
            if broker.alive and broker is not silent:
                self.controller.heartbeat(broker.id, broker.epoch, broker.journal.end, stop=False)
        self.controller.tick()

    def _restart_one(self) -> None:
        dead = [one for one in self.brokers.values() if not one.alive]
        if dead:
            one = self.rng.choice(dead)
            self._boot(one.id, one.incarnation + 1)

    def heal(self) -> None:
        """No more faults; everybody returns, and all is replicated."""
        for _ in range(3):
            self._restart_one()
        for _ in range(20_000):
            self.step(faults=False)
            placement = self.topic.placements[0]
            ends = {one.partition.high_watermark for one in self.brokers.values()}
            ends |= {one.partition.log.end_offset for one in self.brokers.values()}
            if len(placement.isr) == len(BROKERS) and len(ends) == 1 and not self.open:
                return
        raise AssertionError(f"not healed: {placement}, {ends}, {len(self.open)} open")

    # What must hold

    def check_leader(self, partition: Partition) -> None:
        """Who is elected has everything that was promised."""
        held = values(partition)
        for record in self.acked:
            assert held.get(record.offset) == record.value, (
                f"broker {partition._me} leads epoch {partition.leader_epoch} without offset {record.offset}"
            )

    def check_agreement(self) -> None:
        """Below the lower of two high watermarks, two logs are the same."""
        alive = [one.partition for one in self.brokers.values() if one.alive]
        held = [(one.high_watermark, values(one)) for one in alive]
        for index, (mine, first) in enumerate(held):
            for others, second in held[index + 1 :]:
                for offset in range(min(mine, others)):
                    assert first.get(offset) == second.get(offset), f"offset {offset} differs"


def values(partition: Partition) -> dict[int, bytes]:
    """Everything in a log, by offset."""
    log = partition.log
    data = log.read(log.start_offset, 1 << 30, log.end_offset, at_least_one=True)
    return {record.offset: bytes(record.value or b"") for batch in batches(data) for record in batch.records()}
