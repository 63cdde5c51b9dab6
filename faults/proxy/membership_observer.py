"""Who owned which partition from when until when, as the groups' own messages show it."""

from collections.abc import Callable
from typing import Any

from brokertrial.faults.match import ClusterState
from brokertrial.faults.proxy.exchange import ProxiedRequest
from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import Membership
from brokertrial.wire.codec import Malformed, decode_versioned

LEAVE_GROUP, SYNC_GROUP, CONSUMER_GROUP_HEARTBEAT = 13, 14, 68
Owned = dict[tuple[str, int], Membership]


class MembershipObserver:
    """Turns SyncGroup, LeaveGroup and ConsumerGroupHeartbeat exchanges into rows: one when an ownership ends, and one
    without an end for each that lasts at the end of the case.

    A classic member whose partition goes to another in a later generation is fenced by the protocol, heard of or not.
    A member of the new protocol that vanishes is only known to the broker: its rows last, and prove nothing by that.
    """

    def __init__(self, facts: ClusterState, add: Callable[[Membership], None]) -> None:
        self._facts = facts
        self._add = add
        self._owned: dict[tuple[str, str], Owned] = {}
        self._generations: dict[tuple[str, str], int] = {}

    def saw(self, exchange: ProxiedRequest, answer: Any) -> None:
        """Takes in one exchange of a group API."""
        request = exchange.body_if_readable()
        if request is None:
            return
        if exchange.key == SYNC_GROUP and answer.error_code == 0:
            owned = _classic(answer.assignment)
            self._taken_over(request.group_id, request.member_id, request.generation_id, owned)
            self._now_owns(exchange, request.group_id, request.member_id, request.generation_id, owned)
        elif exchange.key == LEAVE_GROUP and answer.error_code == 0:
            left = [request.member_id] if exchange.version < 3 else [member.member_id for member in request.members]
            for member in left:
                self._ends(request.group_id, member, "closed")
        elif exchange.key == CONSUMER_GROUP_HEARTBEAT:
            self._heartbeat(exchange, request, answer)

    def _heartbeat(self, exchange: ProxiedRequest, request: Any, answer: Any) -> None:
        if request.member_epoch in (-1, -2) and answer.error_code == 0:
            self._ends(request.group_id, request.member_id, "closed")
        elif answer.error_code in (25, 110):  # UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH
            self._ends(request.group_id, request.member_id, "fenced")
        elif answer.error_code == 0 and answer.assignment is not None:
            owned = set()
            for topic in answer.assignment.topic_partitions:
                name = self._facts.topic_name(topic.topic_id) or str(topic.topic_id)
                owned |= {(name, number) for number in topic.partitions}
            member = answer.member_id or request.member_id
            self._now_owns(exchange, request.group_id, member, answer.member_epoch, owned)

    def _now_owns(
        self, exchange: ProxiedRequest, group: str, member: str, generation: int, wanted: set[tuple[str, int]]
    ) -> None:
        owned = self._owned.setdefault((group, member), {})
        self._generations[group, member] = generation
        for place in [place for place in owned if place not in wanted]:
            self._end(owned.pop(place), "revoked")
        for topic, partition in sorted(wanted - owned.keys()):
            row = Membership(
                group=group,
                member=member,
                client=exchange.client,
                generation=generation,
                topic=topic,
                partition=partition,
                from_ns=now_ns(),
            )
            owned[topic, partition] = row

    def report_open_memberships(self) -> None:
        """Writes the ownerships that have not ended, and forgets them: the case is over."""
        for owned in self._owned.values():
            for row in owned.values():
                self._add(row)
        self._owned.clear()
        self._generations.clear()

    def _taken_over(self, group: str, member: str, generation: int, wanted: set[tuple[str, int]]) -> None:
        for (other_group, other), owned in self._owned.items():
            if other_group == group and other != member:
                gone = self._generations.get((group, other), generation) < generation
                for place in [place for place in owned if gone and place in wanted]:
                    self._end(owned.pop(place), "fenced")

    def _ends(self, group: str, member: str, how: str) -> None:
        for row in self._owned.pop((group, member), {}).values():
            self._end(row, how)

    def _end(self, row: Membership, how: str) -> None:
        row.until_ns, row.ended_by = now_ns(), how
        self._add(row)


def _classic(assignment: Any) -> set[tuple[str, int]]:
    """The partitions of a classic consumer's assignment; what is no such thing names none."""
    if not assignment:
        return set()
    try:
        _, data = decode_versioned("ConsumerProtocolAssignment", assignment)
    except (Malformed, LookupError):
        return set()
    return {(topic.topic, number) for topic in data.assigned_partitions for number in topic.partitions}
