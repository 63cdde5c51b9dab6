"""What one broker last answered the members of its groups: epochs, partitions and tasks differ between brokers."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.step import StepMemberState
from brokertrial.wire.messages import Struct


class MemberAnswers:
    """By group and member, as this broker calls them."""

    def __init__(self) -> None:
        self._epochs: dict[tuple[str, str], int] = {}
        self._owned: dict[tuple[str, str], list[dict[str, Any]]] = {}

    def take(self, group: str, answer: Struct) -> None:
        """Keeps what a heartbeat was answered."""
        if answer.error_code:
            return
        member = (group, answer.member_id)
        self._epochs[member] = answer.member_epoch
        if answer._api == "StreamsGroupHeartbeat":
            if answer.active_tasks is not None:
                self._owned[member] = [
                    {"subtopology_id": each.subtopology_id, "partitions": list(each.partitions)}
                    for each in answer.active_tasks
                ]
        elif answer.assignment is not None:
            self._owned[member] = [
                {"topic_id": each.topic_id, "partitions": list(each.partitions)}
                for each in answer.assignment.topic_partitions
            ]

    def value(self, state: StepMemberState, member: str) -> Any:
        """What a request stands for."""
        if state.what == "owned":
            return self.owned(state.group, member)
        return self.epoch(state.group, member) + state.plus

    def epoch(self, group: str, member: str) -> int:
        return self._epochs.get((group, member), 0)

    def owned(self, group: str, member: str) -> list[dict[str, Any]]:
        return self._owned.get((group, member), [])
