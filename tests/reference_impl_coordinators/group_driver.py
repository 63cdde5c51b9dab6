"""Plays the members of one classic group against the pure machine, with a clock that only moves when told."""

from __future__ import annotations

import itertools
from typing import Any

from brokertrial.reference_impl.group import rebalance
from brokertrial.reference_impl.group.classic import ClassicGroup
from brokertrial.reference_impl.group.effects import Effect, JoinResult, Saved, SyncResult
from brokertrial.reference_impl.group.joining import GroupLimits, JoinRequest

SESSION_MS, REBALANCE_MS = 1_000, 5_000


class Play:
    """One group and everything it ever said."""

    def __init__(self, limits: GroupLimits = GroupLimits(initial_delay_ms=0)) -> None:
        self.group = ClassicGroup("g")
        self.limits = limits
        self.now = 0
        self.answers: dict[object, JoinResult | SyncResult] = {}
        self.saved: list[Saved] = []
        self.log: list[Effect] = []
        self._tickets = itertools.count()
        self._ids = itertools.count()

    def join(self, member_id: str = "", **changes: Any) -> int:
        """Sends a JoinGroup; returns the ticket under which its answer will be found."""
        ticket = next(self._tickets)
        protocols = tuple((name, b"meta-" + name.encode()) for name in changes.pop("protocols", ("range",)))
        request = {
            "member_id": member_id, "instance_id": None, "client_id": "c", "client_host": "/h",
            "session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": REBALANCE_MS, "protocol_type": "consumer",
            "protocols": protocols, "fresh_id": f"m{next(self._ids)}", **changes,
        }  # fmt: skip
        self.take(rebalance.join(self.group, JoinRequest(**request), ticket, self.now, self.limits))
        return ticket

    def enter(self, **changes: Any) -> tuple[str, int]:
        """A dynamic member's two steps into the group: get an id, come back with it."""
        member_id = self.joined(self.join(**changes)).member_id
        return member_id, self.join(member_id, **changes)

    def sync(self, member_id: str, generation: int, assignments: dict[str, bytes] | None = None, **changes: Any) -> int:
        ticket = next(self._tickets)
        request = {"instance_id": None, "protocol_type": None, "protocol": None, **changes}
        effects = rebalance.sync(
            self.group, member_id, request["instance_id"], generation, request["protocol_type"], request["protocol"],
            assignments or {}, ticket, self.now,
        )  # fmt: skip
        self.take(effects)
        return ticket

    def heartbeat(self, member_id: str, generation: int, instance_id: str | None = None) -> int:
        return rebalance.heartbeat(self.group, member_id, instance_id, generation, self.now)

    def leave(self, *leavers: tuple[str, str | None]) -> list[int]:
        codes, effects = rebalance.leave(self.group, leavers, self.now, self.limits)
        self.take(effects)
        return codes

    def advance(self, ms: int) -> None:
        """Moves the clock, stopping at every deadline on the way as a timer would."""
        target = self.now + ms
        while (due := min(self.group.deadlines.values(), default=target + 1)) <= target:
            self.now = max(self.now, due)
            self.take(rebalance.tick(self.group, self.now, self.limits))
        self.now = target

    def take(self, effects: list[Effect]) -> None:
        self.log += effects
        for effect in effects:
            if isinstance(effect, Saved):
                self.saved.append(effect)
            else:
                assert effect.to not in self.answers, f"request {effect.to} was answered twice"
                self.answers[effect.to] = effect

    def joined(self, ticket: int) -> JoinResult:
        answer = self.answers[ticket]
        assert isinstance(answer, JoinResult)
        return answer

    def synced(self, ticket: int) -> SyncResult:
        answer = self.answers[ticket]
        assert isinstance(answer, SyncResult)
        return answer

    def stable(self, members: int = 2) -> list[str]:
        """A stable group of so many members, the first of which leads; returns their ids."""
        entered = [self.enter() for _ in range(members)]
        self.advance(0)
        for member_id, ticket in entered:
            if ticket not in self.answers:
                continue
            if self.joined(ticket).generation != self.group.generation:
                self.join(member_id)
        self.settle()
        return [member_id for member_id, _ in entered]

    def settle(self) -> None:
        """Everybody who must rejoin does, the leader gives each member its own id as assignment."""
        for _ in range(3):
            if self.group.state.value == "PreparingRebalance":
                for member in list(self.group.members.values()):
                    if member.join is None:
                        known = [name for name, _ in member.protocols]
                        self.join(member.member_id, instance_id=member.instance_id, protocols=known)
                self.advance(0)
            if self.group.state.value == "CompletingRebalance":
                given = {m: f"{m}@{self.group.generation}".encode() for m in self.group.members}
                for member in list(self.group.members.values()):
                    self.sync(member.member_id, self.group.generation, given, instance_id=member.instance_id)
        assert self.group.state.value == "Stable", self.group.state
