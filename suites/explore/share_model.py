"""What a sequence knows of its share group: members, their share sessions, the records that each has to acknowledge."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field

from brokertrial.suites.explore.step import Symbol

SharePlace = tuple[Symbol, int]
"""A topic's id and a partition of it."""
OffsetRange = tuple[int, int]
"""The first offset and the last."""


@dataclass(slots=True)
class ModelShareMember:
    """A member that names itself; `session` is the next epoch of its share session, None where it has none.

    `held` are the records that it acquired and has not acknowledged.
    """

    member: str
    connection: int
    names: frozenset[str]
    session: int | None = None
    asked: list[SharePlace] = field(default_factory=list)
    held: dict[SharePlace, list[OffsetRange]] = field(default_factory=dict)

    def acquire(self, place: SharePlace, ranges: list[OffsetRange]) -> None:
        self.held.setdefault(place, []).extend(ranges)

    def give_back(self, place: SharePlace, done: OffsetRange) -> None:
        """What is acknowledged is no longer held."""
        left: list[OffsetRange] = []
        for first, last in self.held.get(place, []):
            left += [(first, min(last, done[0] - 1)), (max(first, done[1] + 1), last)]
        self.held[place] = [(first, last) for first, last in left if first <= last]
        if not self.held[place]:
            del self.held[place]

    def end_session(self) -> None:
        self.session = None
        self.asked.clear()


@dataclass(slots=True)
class ModelShareGroup:
    """`warm` are the places that have been fetched alone: what is there is served at once from then on."""

    name: str
    members: list[ModelShareMember] = field(default_factory=list)
    joined: int = 0
    warm: set[SharePlace] = field(default_factory=set)
    reset: str | None = None
    unclear: bool = False
    """Records were acquired on a connection that ended: no more are fetched."""
    settled: dict[str, int] = field(default_factory=dict)
    """The topics that the members wanted when the group was last settled, and how many partitions each had."""

    def new_member_id(self) -> str:
        """As clients choose them: 22 characters of base64, which stand for a UUID."""
        self.joined += 1
        digest = hashlib.sha256(f"{self.name}-{self.joined}".encode()).digest()[:16]
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def disconnected(self, connection: int) -> None:
        """A connection ended, and with it the share session on it: what was acquired is free again, sooner or later."""
        for member in self.members:
            if member.connection == connection:
                self.unclear = self.unclear or bool(member.held)
                member.end_session()

    def forget_sessions(self) -> None:
        """The brokers were restarted: sessions, and what was acquired in them, are gone."""
        self.warm.clear()
        self.unclear = False
        for member in self.members:
            member.end_session()
            member.held.clear()
