"""The group machine under everything that members may do, in any order, with time passing: what must hold always."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from brokertrial.reference_impl.group.classic import GroupState, restored
from brokertrial.reference_impl.group.effects import JoinResult, Saved, SyncResult
from brokertrial.reference_impl.group.joining import GroupLimits
from brokertrial.wire import errors
from tests.reference_impl_coordinators.group_driver import REBALANCE_MS, SESSION_MS, Play

PROTOCOLS = st.sampled_from([("a", "b"), ("b", "a"), ("b",), ("a",), ("c", "a")])


class GroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.play = Play(GroupLimits(initial_delay_ms=50, max_size=4))
        self.asked: set[int] = set()
        self.seen_generation = 0
        self.checked = 0
        self.rosters: dict[int, set[str]] = {}
        self.given: dict[tuple[int, str], bytes] = {}

    def _anyone(self, data: Any) -> str:
        who: str = data.draw(st.sampled_from(sorted([*self.play.group.members, *self.play.group.pending, "stranger"])))
        return who

    @rule(protocols=PROTOCOLS, instance=st.sampled_from([None, None, "i", "j"]), old=st.booleans())
    def newcomer(self, protocols: tuple[str, ...], instance: str | None, old: bool) -> None:
        self.asked.add(self.play.join(protocols=protocols, instance_id=instance, id_required=not old))

    @rule(data=st.data(), protocols=PROTOCOLS)
    def member_joins_again(self, data: Any, protocols: tuple[str, ...]) -> None:
        member_id = self._anyone(data)
        member = self.play.group.members.get(member_id)
        instance = member.instance_id if member is not None else None
        if member is not None and member.join is not None:
            return  # a real client has one request in flight; the earlier answer would be lost by Kafka too
        self.asked.add(self.play.join(member_id, protocols=protocols, instance_id=instance))

    @rule(data=st.data(), stale=st.booleans())
    def member_syncs(self, data: Any, stale: bool) -> None:
        group, member_id = self.play.group, self._anyone(data)
        member = group.members.get(member_id)
        if member is not None and member.sync is not None:
            return
        generation = group.generation - stale
        given = {m: f"{m}@{generation}".encode() for m in group.members} if group.leader == member_id else {}
        if given and not stale and group.state is GroupState.COMPLETING:
            self.given |= {(generation, m): part for m, part in given.items()}
        instance = member.instance_id if member is not None else None
        self.asked.add(self.play.sync(member_id, generation, given, instance_id=instance))

    @rule(data=st.data())
    def member_beats(self, data: Any) -> None:
        group, member_id = self.play.group, self._anyone(data)
        member = group.members.get(member_id)
        code = self.play.heartbeat(member_id, group.generation, member.instance_id if member else None)
        if member is None:
            assert code == errors.UNKNOWN_MEMBER_ID
        else:
            assert code == (errors.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING else errors.NONE)

    @rule(data=st.data())
    def member_leaves(self, data: Any) -> None:
        member_id = self._anyone(data)
        (code,) = self.play.leave((member_id, None))
        assert (code == errors.NONE) == (member_id != "stranger")
        assert member_id not in self.play.group.members

    @rule(ms=st.sampled_from([1, 50, SESSION_MS // 2, SESSION_MS, REBALANCE_MS]))
    def time_passes(self, ms: int) -> None:
        self.play.advance(ms)

    @rule()
    def everybody_is_gone(self) -> None:
        """Whatever the state: without a word from anyone the group ends up empty, and nobody waits for ever."""
        self.play.advance(400_000)
        self.play.advance(400_000)
        assert self.play.group.state is GroupState.EMPTY, self.play.group.state
        assert self.asked == set(self.play.answers)

    @precondition(lambda self: self.play.saved)
    @rule()
    def coordinator_restarts(self) -> None:
        saved = self.play.saved[-1]
        again = restored(saved)
        assert again.generation == saved.generation
        assert set(again.members) == {m.member_id for m in saved.members}
        assert {m: x.assignment for m, x in again.members.items()} == {m.member_id: m.assignment for m in saved.members}
        assert again.saved() == saved

    @invariant()
    def the_state_fits_its_members(self) -> None:
        group = self.play.group
        assert (group.state is GroupState.EMPTY) <= (not group.members)
        assert (group.leader in group.members) == bool(group.members)
        assert {m.member_id for m in group.members.values() if m.instance_id} == set(group.static.values())
        # While it calls its members back, Kafka counts only those that have come (ClassicGroup.acceptJoiningMember).
        assert sum(m.join is not None for m in group.members.values()) <= self.play.limits.max_size
        assert not (group.pending.keys() & group.members.keys())
        waiting_to_join = any(m.join is not None for m in group.members.values())
        waiting_to_sync = any(m.sync is not None for m in group.members.values())
        assert not waiting_to_join or group.state is GroupState.PREPARING
        assert not waiting_to_sync or group.state is GroupState.COMPLETING
        if group.members and group.state is not GroupState.PREPARING:
            assert group.protocol in group.candidates()

    @invariant()
    def generations_only_rise_and_their_members_agree(self) -> None:
        group = self.play.group
        assert group.generation >= self.seen_generation
        self.seen_generation = group.generation
        for effect in self.play.log[self.checked :]:
            if isinstance(effect, JoinResult) and not effect.error:
                if effect.members:
                    self.rosters.setdefault(effect.generation, {m.member_id for m in effect.members})
                    assert effect.leader == effect.member_id
                assert effect.protocol is not None
            elif isinstance(effect, SyncResult) and not effect.error:
                generation = int(effect.assignment.rpartition(b"@")[2] or -1)
                assert generation in (-1, self.play.saved[-1].generation)
                assert effect.assignment in (b"", *self.given.values())
            elif isinstance(effect, Saved):
                assert effect.generation <= group.generation
        self.checked = len(self.play.log)


TestGroupMachine = GroupMachine.TestCase
TestGroupMachine.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
