"""A member of a classic group that does what clients do; every step can also be taken alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.core import COORDINATOR_BUSY
from brokertrial.suites.probe.groups import Joined, Synced
from brokertrial.wire import errors

BEGINS_AGAIN = 2
"""How often a new id of one member may be unknown already, or its coordinator be another."""

NO_PARTITIONS = bytes(6) + b"\xff" * 4
"""What each member is given where a case does not say: ConsumerProtocolAssignment v0 without a topic or user data.

Whether an assignment of no bytes is handed out is a case of its own.
"""


class Member:
    """`wire.member(group)`: has its own connection, keeps its member id and generation.

    Rebalances of several members: `begin_join()` on each, then `finish_join()` on each, then `sync` the same way.
    """

    def __init__(self, wire: Any, group: str, name: str, settings: Mapping[str, Any]) -> None:
        self.wire = wire
        self.group = group
        self.name = name
        self.settings = dict(settings)
        self.id = ""
        self.generation = -1
        self.protocol: str | None = None
        self.joined: Joined | None = None
        self._is_new = False
        """Whether it was given its id for the join that is under way."""
        self._begins_again = BEGINS_AGAIN

    def join(self) -> Joined:
        """Joins and waits for the end of the rebalance; rejoins by itself when asked to bring its id (KIP-394)."""
        self.begin_join()
        return self.finish_join()

    def reserve(self) -> None:
        """Gets an id, if the broker wants one in JoinGroup (KIP-394). A broker that does not has it join at once."""
        if self.id or self.settings.get("instance_id") or max(self.wire.versions("JoinGroup"), default=0) < 4:
            return
        first = self.wire.join_group(self.group, via=self.name, **self.settings)
        if first.error == errors.MEMBER_ID_REQUIRED:
            self.id, self._is_new = first.member_id, True
        else:
            self.joined = first
            self.finish_join()

    def begin_join(self) -> None:
        """Sends JoinGroup without waiting; a member without an id gets one first."""
        self.reserve()
        self.joined = self.wire.join_group(self.group, member_id=self.id, via=self.name, wait=False, **self.settings)

    def finish_join(self) -> Joined:
        """The answer to `begin_join`; takes over id and generation.

        A member whose new id is unknown already begins anew, as clients do: up to 3.9 the deletion of any topic removes
        groups that are empty, also when somebody is about to join (GroupMetadataManager.cleanupGroupMetadata). A static
        one, which gets no id first, does so when its coordinator has just moved.
        """
        assert self.joined is not None, "begin_join() first"
        answer = self.joined
        while self._begins_again and self._was_in_vain(answer):
            answer.examined = True
            self._begins_again -= 1
            self.id = ""
            self._await_coordinator()
            self.begin_join()
            answer = self.joined
        self._is_new = False
        if answer.asked.wait().error_code == 0:
            struct = answer.asked.wait()
            self.id, self.generation, self.protocol = struct.member_id, struct.generation_id, struct.protocol_name
        return answer

    def _was_in_vain(self, answer: Joined) -> bool:
        """Whether nothing came of it that a broker would remember."""
        code = answer.asked.wait().error_code
        if self._is_new:
            return bool(code == errors.UNKNOWN_MEMBER_ID)
        return not self.id and self.generation < 0 and code in COORDINATOR_BUSY

    def _await_coordinator(self) -> None:
        """A static member's first request is a JoinGroup, which is not sent again while a coordinator is busy."""
        if self.settings.get("instance_id"):
            self.wire.forget_coordinator(self.group)
            _ = self.wire.describe_group(self.group).error  # asked again until it serves

    @property
    def leads(self) -> bool:
        """Whether the broker made it the leader of its generation."""
        return self.joined is not None and self.joined.leader == self.id

    def sync(
        self, assignments: Mapping[str, bytes] | None = None, *, generation: int | None = None, wait: bool = True
    ) -> Synced:
        """SyncGroup; the leader brings the assignments."""
        answer: Synced = self.wire.sync_group(
            self.group,
            self.generation if generation is None else generation,
            self.id,
            assignments,
            protocol=self.protocol,
            protocol_type=self.settings.get("protocol_type", "consumer"),
            instance_id=self.settings.get("instance_id"),
            via=self.name,
            wait=wait,
        )
        return answer

    def heartbeat(self, *, generation: int | None = None) -> Response:
        answer: Response = self.wire.heartbeat(
            self.group,
            self.generation if generation is None else generation,
            self.id,
            instance_id=self.settings.get("instance_id"),
            via=self.name,
        )
        return answer

    def await_rebalance(self, *, within: float = 10.0) -> Response:
        """Heartbeats until the broker says that the group rebalances, or refuses the member altogether."""

        def called() -> Response | None:
            answer = self.heartbeat()
            return answer if answer.error else None

        answer: Response | None = self.wire.until(
            called, within=within, what="a member is called by a heartbeat to join again"
        )
        assert answer is not None
        return answer

    def commit(
        self, topic: str, partition: int = 0, *, offset: int, generation: int | None = None, metadata: str = ""
    ) -> Response:
        answer: Response = self.wire.commit(
            self.group,
            topic,
            partition,
            offset=offset,
            metadata=metadata,
            member_id=self.id,
            generation=self.generation if generation is None else generation,
            instance_id=self.settings.get("instance_id"),
            via=self.name,
        )
        return answer

    def leave(self) -> Response:
        answer: Response = self.wire.leave_group(self.group, self.id, via=self.name)
        return answer


def rebalance(*members: Member, assignments: Sequence[bytes] | None = None) -> Member:
    """Joins all members and syncs them; each gets its assignment bytes (by position); returns the leader."""
    leader = join_together(*members)
    given = assignments or [NO_PARTITIONS] * len(members)
    leader_brings = {member.id: data for member, data in zip(members, given, strict=True)}
    with leader.wire.on_the_way("rebalance"):
        answers = [member.sync(leader_brings if member is leader else None, wait=False) for member in members]
        for answer in answers:
            answer.must_succeed()
    return leader


def join_together(*members: Member) -> Member:
    """Joins all members into one generation, which awaits its SyncGroups; returns the leader.

    New ones come one at a time: a broker may close a generation without those to whom it only gave an id, and whoever
    is in a generation that closed must join again before the next one can.
    """
    with members[0].wire.on_the_way("rebalance"):
        return _joined_together(members)


def _joined_together(members: Sequence[Member]) -> Member:
    inside = [member for member in members if member.generation >= 0]
    _join_again(inside)
    for member in members:
        if member.generation < 0:
            member.begin_join()
            if inside:
                inside[0].await_rebalance()
            for each in inside:
                each.begin_join()
            inside.append(member)
            for each in inside:
                each.finish_join().must_succeed()
    generations = {member.name: member.generation for member in members}
    first = members[0]
    first.wire.must(
        len(set(generations.values())) == 1,
        f"members of one rebalance get the generations {generations}; they must get the same",
        *(member.joined for member in members if member.joined is not None),
    )
    return next((member for member in members if member.leads), first)


def _join_again(members: Sequence[Member]) -> None:
    """A rebalance of those who are in the group already: the leader's JoinGroup begins it."""
    leaders = [member for member in members if member.leads]
    others = [member for member in members if not member.leads]
    for member in leaders:
        member.begin_join()
    if leaders and others:
        others[0].await_rebalance()
    for member in others:
        member.begin_join()
    for member in members:
        member.finish_join().must_succeed()
