"""The KIP-848 machine under thousands of random steps: no two owners, epochs never fall, it converges.

Members here are honest about what they own and slow about everything: they lose answers, hold on to partitions, leave,
crash and come back; topics come, grow and go. What a member believes to own is what it was last told, until it says
that it gave something up: no other member may be told the same before.
"""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from brokertrial.reference_impl.group import consumer_heartbeat, consumer_layout
from brokertrial.reference_impl.group.consumer import NOTHING, ConsumerGroup, Parts
from brokertrial.reference_impl.group.consumer_effects import Beat, Refusal
from brokertrial.reference_impl.group.consumer_heartbeat import ConsumerLimits, Heartbeat
from brokertrial.wire import errors

LIMITS = ConsumerLimits(session_timeout_ms=10_000)
PATIENCE_MS = 5_000
MEMBERS = [f"m{i}" for i in range(5)]
TOPICS = [f"t{i}" for i in range(3)]
pick = st.sampled_from


@dataclass
class Client:
    """A member as it sees itself. `owned` is what it may be reading from."""

    member_id: str
    names: frozenset[str]
    instance_id: str | None = None
    assignor: str | None = None
    epoch: int = 0
    owned: Parts = NOTHING
    told: Parts = NOTHING
    epochs: list[int] = field(default_factory=list)
    unsure: bool = False
    """It has not heard an answer: its next heartbeat says everything, and asks for everything."""


class Machine(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 1 << 30))
    def begin(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.group = ConsumerGroup("g")
        self.saved = ConsumerGroup("g")
        self.now = 0
        self.catalogue: dict[str, tuple[uuid.UUID, int]] = {"t0": (self._id(), 3), "t1": (self._id(), 2)}
        self.clients: dict[str, Client] = {}
        self.group_epoch = 0

    def _id(self) -> uuid.UUID:
        return uuid.UUID(int=self.rng.getrandbits(128), version=4)

    # -- members -----------------------------------------------------------------------------------------------------

    @rule(name=pick(MEMBERS), topics=st.sets(pick(TOPICS), min_size=1), assignor=pick([None, "uniform", "range"]),
          static=st.booleans())  # fmt: skip
    def joins(self, name: str, topics: set[str], assignor: str | None, static: bool) -> None:
        if name not in self.clients:
            member_id = f"{name}-{self._id()}"
            self.clients[name] = Client(member_id, frozenset(topics), f"i-{name}" if static else None, assignor)
            self._beat(self.clients[name])

    @rule(name=pick(MEMBERS), lost=st.booleans())
    def beats(self, name: str, lost: bool) -> None:
        if name in self.clients:
            self._beat(self.clients[name], lost=lost)

    @rule(name=pick(MEMBERS))
    def gives_up_what_it_must(self, name: str) -> None:
        if name in self.clients:
            client = self.clients[name]
            client.owned &= client.told

    @rule(name=pick(MEMBERS), topics=st.sets(pick(TOPICS), min_size=1))
    def subscribes_anew(self, name: str, topics: set[str]) -> None:
        if name in self.clients and self.clients[name].epoch > 0:
            self.clients[name].names = frozenset(topics)
            self._beat(self.clients[name], names=True)

    @rule(name=pick(MEMBERS), for_a_while=st.booleans())
    def leaves(self, name: str, for_a_while: bool) -> None:
        client = self.clients.pop(name, None)
        if client is not None:
            epoch = -2 if for_a_while and client.instance_id else -1
            self._take(consumer_heartbeat.leave(self.group, client.member_id, client.instance_id, epoch))

    @rule(name=pick(MEMBERS))
    def dies(self, name: str) -> None:
        self.clients.pop(name, None)

    @rule(name=pick(MEMBERS), epoch=st.integers(1, 60))
    def lies_about_its_epoch(self, name: str, epoch: int) -> None:
        """A wrong epoch with partitions that are not the member's is fenced, and changes nothing."""
        known = self.group.members.get(self.clients[name].member_id) if name in self.clients else None
        if known is not None and epoch != known.epoch:
            lie = Heartbeat(known.member_id, epoch, known.instance_id, owned=frozenset({(self._id(), 0)}))
            answer = consumer_heartbeat.heartbeat(self.group, lie, self.catalogue, self.now, LIMITS)
            assert isinstance(answer, Refusal) and answer.error == errors.FENCED_MEMBER_EPOCH

    def _beat(self, client: Client, *, lost: bool = False, names: bool = False) -> None:
        joining = client.epoch == 0
        request = Heartbeat(
            client.member_id, client.epoch, client.instance_id,
            rebalance_timeout_ms=PATIENCE_MS if joining or client.unsure else -1,
            names=client.names if joining or client.unsure or names else None,
            assignor=client.assignor, owned=NOTHING if joining else client.owned,
        )  # fmt: skip
        if joining:
            client.owned = client.told = NOTHING
        answer = consumer_heartbeat.heartbeat(self.group, request, self.catalogue, self.now, LIMITS)
        self._take(answer)
        if isinstance(answer, Refusal):
            assert answer.error in (
                errors.UNKNOWN_MEMBER_ID, errors.FENCED_MEMBER_EPOCH, errors.UNRELEASED_INSTANCE_ID,
                errors.FENCED_INSTANCE_ID,
            ), answer  # fmt: skip
            client.epoch, client.owned, client.told = 0, NOTHING, NOTHING
            client.epochs.clear()
            client.unsure = False
        elif lost:
            client.unsure = True
        else:
            client.unsure = False
            client.epoch = answer.epoch
            client.epochs.append(answer.epoch)
            if answer.assignment is not None:
                client.told = answer.assignment
                client.owned |= answer.assignment

    def _take(self, answer: Beat | Refusal) -> None:
        if isinstance(answer, Beat):
            self._save(answer.changes)

    def _save(self, changes: list[object]) -> None:
        for key, value in consumer_layout.rows("g", changes, 1):  # type: ignore[arg-type]
            parsed = consumer_layout.read_key(key)
            assert parsed is not None
            consumer_layout.replay(self.saved, parsed, value)

    # -- the world -----------------------------------------------------------------------------------------------

    @rule(ms=st.integers(1, 6_000))
    def time_passes(self, ms: int) -> None:
        """Everyone who hears nothing for its session stops reading, as clients do."""
        self.now += ms
        self._save(list(consumer_heartbeat.tick(self.group, self.now)))
        for client in self.clients.values():
            if client.epoch and client.member_id not in self.group.members:
                client.epoch, client.owned, client.told = 0, NOTHING, NOTHING
                client.epochs.clear()

    @rule(topic=pick(TOPICS), more=st.integers(1, 3))
    def a_topic_comes_or_grows(self, topic: str, more: int) -> None:
        topic_id, count = self.catalogue.get(topic, (self._id(), 0))
        self.catalogue[topic] = (topic_id, min(count + more, 8))

    @rule(topic=pick(TOPICS))
    def a_topic_goes(self, topic: str) -> None:
        self.catalogue.pop(topic, None)

    @rule()
    def the_coordinator_restarts(self) -> None:
        """What was written is all that there was."""
        self.group = self.saved
        self.saved = ConsumerGroup("g")
        consumer_heartbeat.loaded(self.group, self.now, LIMITS)
        rows = _whole(self.group)
        self.rng.shuffle(rows)  # as compaction may leave them
        for key, value in rows:
            parsed = consumer_layout.read_key(key)
            assert parsed is not None
            consumer_layout.replay(self.saved, parsed, value)

    @precondition(lambda self: self.clients)
    @rule()
    def it_converges(self) -> None:
        """Left alone, with members that do as they are told, everybody reaches the target within some rounds."""
        self.now += LIMITS.session_timeout_ms - 1
        for client in self.clients.values():
            client.owned &= client.told
            self._beat(client)
        self.time_passes(1)
        for _ in range(8):
            for client in self.clients.values():
                client.owned &= client.told
                self._beat(client)
        members = self.group.members
        assert {client.member_id for client in self.clients.values()} == set(members)
        assert all(member.reached(self.group.epoch) for member in members.values())
        for client in self.clients.values():
            assert client.owned == self.group.target.get(client.member_id, NOTHING)
        wanted = {
            (topic_id, index)
            for name, (topic_id, count) in self.catalogue.items()
            for index in range(count)
            if any(name in client.names for client in self.clients.values())
        }
        owned = [part for client in self.clients.values() for part in client.owned]
        assert sorted(owned) == sorted(wanted)

    # -- what always holds -----------------------------------------------------------------------------------------

    @invariant()
    def nobody_owns_what_another_owns(self) -> None:
        owned = [part for client in getattr(self, "clients", {}).values() for part in client.owned]
        assert len(owned) == len(set(owned)), "two members own one partition"

    @invariant()
    def epochs_never_fall(self) -> None:
        if not hasattr(self, "group"):
            return
        assert self.group.epoch >= self.group_epoch and self.group.assignment_epoch <= self.group.epoch
        self.group_epoch = self.group.epoch
        for client in self.clients.values():
            assert client.epochs == sorted(client.epochs)
            del client.epochs[:-2]

    @invariant()
    def targets_do_not_overlap(self) -> None:
        if hasattr(self, "group"):
            parts = [part for target in self.group.target.values() for part in target]
            assert len(parts) == len(set(parts))
            assert set(self.group.target) <= set(self.group.members)

    @invariant()
    def the_log_tells_all(self) -> None:
        if hasattr(self, "group"):
            assert self.saved.members == self.group.members
            assert (self.saved.epoch, self.saved.assignment_epoch) == (self.group.epoch, self.group.assignment_epoch)
            assert self.saved.target == self.group.target and self.saved.owners == self.group.owners


def _whole(group: ConsumerGroup) -> list[tuple[bytes, bytes | None]]:
    from brokertrial.reference_impl.group.consumer_effects import (
        SavedConsumerMember,
        SavedGroup,
        SavedProgress,
        SavedTarget,
        SavedTargetEpoch,
    )

    changes = [SavedGroup(group.epoch, group.metadata_hash), SavedTargetEpoch(group.assignment_epoch)]
    members = list(group.members.values())
    return consumer_layout.rows(
        "g",
        [
            *changes,
            *(SavedConsumerMember(member) for member in members),
            *(SavedTarget(member_id, parts) for member_id, parts in group.target.items()),
            *(SavedProgress(member) for member in members),
        ],
        1,
    )


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=100, stateful_step_count=60, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)  # fmt: skip
