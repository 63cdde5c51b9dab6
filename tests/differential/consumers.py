"""What one broker told the members of its KIP-848 groups last: epochs and partitions differ from broker to broker."""

from __future__ import annotations

from typing import Any

from brokertrial.wire.messages import Struct
from tests.differential.step import Kept


class Consumers:
    """By group and member, as this broker calls them."""

    def __init__(self) -> None:
        self._epochs: dict[tuple[str, str], int] = {}
        self._owned: dict[tuple[str, str], list[dict[str, Any]]] = {}

    def hear(self, group: str, answer: Struct) -> None:
        """Takes over what a heartbeat was answered."""
        if answer.error_code:
            return
        member = (group, answer.member_id)
        self._epochs[member] = answer.member_epoch
        if answer.assignment is not None:
            self._owned[member] = [
                {"topic_id": each.topic_id, "partitions": list(each.partitions)}
                for each in answer.assignment.topic_partitions
            ]

    def said(self, kept: Kept, member: str) -> Any:
        """The value that a request means."""
        if kept.what == "owned":
            return self.owned(kept.group, member)
        return self.epoch(kept.group, member) + kept.plus

    def epoch(self, group: str, member: str) -> int:
        return self._epochs.get((group, member), 0)

    def owned(self, group: str, member: str) -> list[dict[str, Any]]:
        return self._owned.get((group, member), [])
