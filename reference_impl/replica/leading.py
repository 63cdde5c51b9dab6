"""What the leader of a partition knows of its followers: how far they are, who is in sync, and what is replicated.

Pure: no clock, no sockets. The in-sync set (ISR) is the controller's to change; the leader proposes. While a proposal
is on its way, nobody knows which of the two sets holds, so the high watermark waits for the members of both.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from brokertrial.reference_impl import bugs


@dataclass(slots=True)
class FollowerProgress:
    """How far one follower is. Times are monotonic seconds."""

    end_offset: int = -1
    start_offset: int = -1
    caught_up_s: float = float("-inf")
    broker_epoch: int = -1
    leader_end: int = -1
    asked_s: float = float("-inf")
    """Where the leader's log ended when it asked last."""
    heard: bool = False
    """Since it was left out, or ever: Kafka takes who is back into the set on what it asks for, not on what it had."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The in-sync set that the leader asks the controller for; epochs by member, so that no older self is meant."""

    isr: tuple[int, ...]
    broker_epochs: tuple[int, ...]
    partition_epoch: int


class Leading:
    """The leader's books of one partition in one leader epoch."""

    def __init__(
        self, me: int, replicas: list[int], isr: list[int], partition_epoch: int, epoch_start: int, now_s: float
    ) -> None:
        self.me = me
        self.epoch_start = epoch_start
        self.followers = {one: FollowerProgress(caught_up_s=now_s) for one in replicas if one != me}
        if bugs.on("B13"):
            for one in self.followers.keys() & set(isr):
                self.followers[one].end_offset = epoch_start
        self.isr, self.copies_at_first = frozenset(isr), len(replicas)
        self.partition_epoch = partition_epoch
        self.proposed: Proposal | None = None

    def remember(self, known: dict[int, FollowerProgress]) -> None:
        """What B309 does: who was a follower before is as far as it was."""
        self.followers |= {one: progress for one, progress in known.items() if one in self.followers}

    def settled(self, replicas: list[int], isr: list[int], partition_epoch: int, now_s: float) -> None:
        """The controller's word, which ends any proposal that it is newer than."""
        if partition_epoch <= self.partition_epoch:
            return
        self.followers = {
            one: self.followers.get(one) or FollowerProgress(caught_up_s=now_s) for one in replicas if one != self.me
        }
        for one in self.isr.difference(isr) & self.followers.keys():
            self.followers[one].heard = False
        if bugs.on("B33"):
            for progress in self.followers.values():
                progress.caught_up_s = now_s
        self.isr, self.partition_epoch, self.proposed = frozenset(isr), partition_epoch, None

    # What followers tell

    def fetched(self, replica: int, start: int, offset: int, log_end: int, now_s: float, broker_epoch: int) -> None:
        """A follower whose log begins at `start` asks for what comes at this offset: so it has all between."""
        progress = self.followers[replica]
        has = max(progress.end_offset, offset) if bugs.on("B25") else offset
        progress.start_offset, progress.end_offset, progress.broker_epoch = start, has, broker_epoch
        progress.heard = True
        if offset >= log_end:
            progress.caught_up_s = now_s
        elif offset >= progress.leader_end >= 0 and not bugs.on("B58"):  # it has what there was when it asked before
            progress.caught_up_s = max(progress.caught_up_s, progress.asked_s)
        progress.leader_end, progress.asked_s = log_end, now_s

    def appending(self, log_end: int, now_s: float) -> None:
        """The log is about to grow beyond this end: who has reached it was in sync until now."""
        for progress in self.followers.values():
            if progress.end_offset >= log_end:
                progress.caught_up_s = now_s

    # What is replicated

    @property
    def maximal_isr(self) -> frozenset[int]:
        """Everybody who may be in sync, whatever becomes of the proposal."""
        return self.isr if self.proposed is None or bugs.on("B42") else self.isr.union(self.proposed.isr)

    def high_watermark(self, current: int, log_end: int, min_isr: int) -> int:
        """Up to where all in-sync replicas have the log; it never falls, and rests while there are too few of them."""
        if log_end == self.epoch_start and bugs.on("M33b"):
            return 0
        if self.under_min_isr(min_isr):
            return current
        ends = [self.followers[one].end_offset for one in self.maximal_isr if one in self.followers]
        if len(ends) >= min_isr and bugs.on("B07"):
            return max(current, sorted([log_end, *ends], reverse=True)[min_isr - 1])
        return max(current, min([log_end, *ends]))

    def low_watermark(self, log_start: int, alive: Container[int]) -> int:
        """Below it no living replica holds a record; -1 before each of them has told where its log begins (KIP-107)."""
        counted = self.isr.intersection(self.followers) if bugs.on("B231") else self.followers
        starts = [self.followers[one].start_offset for one in counted if one in alive]
        return min([log_start, *(sorted(starts)[-1:] if bugs.on("B45") else starts)])

    def under_min_isr(self, min_isr: int) -> bool:
        """Fewer in-sync replicas than acks=all needs; nobody can ask for more than there are (KIP-966)."""
        counted = self.maximal_isr if bugs.on("B40") else self.isr
        copies = self.copies_at_first if bugs.on("B191") else len(self.followers) + 1
        return len(counted) < min(min_isr, copies) and not bugs.on("M34a")

    # Who is in sync

    def proposal(
        self, high_watermark: int, log_end: int, now_s: float, max_lag_s: float, alive: Container[tuple[int, int]]
    ) -> Proposal | None:
        """A better in-sync set, now on its way to the controller; None while one is, or when all is well.

        `alive` holds the brokers that may be in sync, each with its epoch: what an earlier self had counts for nothing.
        """
        if self.proposed is not None:
            return None
        late = {one for one in self.isr if one != self.me and self._is_late(one, log_end, now_s, max_lag_s)}
        arrived = {
            one
            for one, progress in self.followers.items()
            if one not in self.isr
            and progress.heard
            and progress.end_offset >= (self.epoch_start if bugs.on("B34") else max(high_watermark, self.epoch_start))
            and (one, progress.broker_epoch) in alive
            and not bugs.on("M33f")
        }
        if not late and not arrived:
            return None
        members = tuple(sorted(self.isr - late | arrived))
        epochs = tuple(self.followers[one].broker_epoch if one in self.followers else -1 for one in members)
        self.proposed = Proposal(members, epochs, self.partition_epoch)
        return self.proposed

    def refused(self) -> None:
        """The controller does not want the proposal: the set is what it was."""
        self.proposed = None

    def _is_late(self, one: int, log_end: int, now_s: float, max_lag_s: float) -> bool:
        progress = self.followers.get(one)
        if progress is None or progress.end_offset >= log_end or (progress.end_offset < 0 and bugs.on("B27")):
            return False
        if log_end - progress.end_offset > 4000 and progress.end_offset >= 0 and bugs.on("B356"):
            return True
        return now_s - progress.caught_up_s > max_lag_s
