"""Who may lead a partition, who must, in which epoch, who is in sync then, and which records are left: a model of it.

The leader is the first in the order of the replicas that is in sync and alive; the one that leads stays while it is
both. Each change of the leader, also from and to none, is one epoch. Where the cluster keeps replicas that are
eligible to lead (KIP-966) the set of those in sync may become empty, and those that left it when it was too small
may lead in that case; elsewhere the last one that was in sync stays in the set though it is dead. Where an unclean
election is allowed, or asked for, any that is alive leads, alone, and what it has not is lost.
"""

from typing import NamedTuple

from brokertrial.suites.cases.replication._roles import NO_NODE
from brokertrial.wire import errors

Way = tuple[int, int]
"""A leader and its epoch."""
NOT_NEEDED, NOT_PREFERRED, NO_LIVING = (
    errors.ELECTION_NOT_NEEDED,
    errors.PREFERRED_LEADER_NOT_AVAILABLE,
    errors.ELIGIBLE_LEADERS_NOT_AVAILABLE,
)


class ElectedRecord(NamedTuple):
    """A record of the log; `epochs`: one of these is that of the leader which took it."""

    value: str
    epochs: frozenset[int]
    numbered: int
    """Which of the producers counted it; -1: none."""


class ElectedPartition:
    """One partition. Leadership may go back to the first replica at any time: `ways` are all that it may be by now."""

    def __init__(self, topic: str, index: int, replicas: list[int], least: int, keeps_eligible: bool) -> None:
        self.topic, self.index, self.replicas, self.least = topic, index, replicas, least
        self.keeps_eligible = keeps_eligible
        self.isr, self.eligible = {*replicas}, set[int]()
        self.last = NO_NODE
        """Who led when the set of those in sync became empty."""
        self.ways: set[Way] = {(replicas[0], 0)}
        self.alive = {*replicas}
        self.newest_before = 0
        """No epoch after this one began before the last loss of a node."""
        self.log: list[ElectedRecord] = []
        self.had: dict[int, int] = {}
        """How much of the log each replica has that is out of sync."""
        self.cuts = 0
        """How often the log was cut: a producer counts anew then, for the suite holds a log against all that it was."""
        self.is_kept = False
        """Whether no administrator asks for an unclean election of it."""
        self.uncommitted = 0
        """So many at the end were taken by too few replicas to be sure of."""

    def __str__(self) -> str:
        return f"{self.topic}-{self.index}"

    @property
    def leaders(self) -> set[int]:
        return {leader for leader, _ in self.ways}

    @property
    def is_led(self) -> bool:
        return NO_NODE not in self.leaders

    @property
    def is_whole(self) -> bool:
        return self.isr == {*self.replicas}

    @property
    def has_too_few(self) -> bool:
        return len(self.isr) < self.least

    def epochs_of(self, leader: int) -> frozenset[int]:
        return frozenset(epoch for one, epoch in self.ways if one == leader)

    # what happens to it

    def loses(self, node: int, unclean: bool) -> None:
        """A node is taken for dead, or goes."""
        self.newest_before = max(epoch for _, epoch in self.ways)
        self.alive.discard(node)
        if node in self.isr and (self.isr != {node} or self.keeps_eligible):
            before, self.isr = self.isr, self.isr - {node}
            self.had[node] = len(self.log)
            if self.keeps_eligible:
                left = (self.eligible | before) - self.isr
                self.eligible = left if self.has_too_few else set()
                self.last = self.last if self.isr else node
        self._elects(unclean)

    def gets_back(self, node: int, clean: bool, unclean: bool) -> None:
        """A node is alive again. One that was killed may have lost anything, and is eligible no more."""
        if node not in self.replicas:
            return
        if self.keeps_eligible and not clean:
            self.eligible.discard(node)
        self.alive.add(node)
        if not self.is_led and self.keeps_eligible and not (self.isr | self.eligible) and self.last == node:
            self._leads_alone(node)
        self._elects(unclean)

    def catches_up(self) -> None:
        """All that are alive are in sync, where one of them leads."""
        if self.is_led:
            self.isr = {*self.alive}
            self.eligible = self.eligible - self.isr if self.has_too_few else set()
            self.had = {node: has for node, has in self.had.items() if node not in self.isr}
        self.may_go_back()

    def may_go_back(self) -> None:
        """The first replica leads again as soon as the cluster likes."""
        first = self.replicas[0]
        if first in self.isr & self.alive:
            self.ways |= {(first, epoch + 1) for leader, epoch in self.ways if leader not in (first, NO_NODE)}

    def is_seen(self, way: Way) -> None:
        self.ways = {way}
        self.may_go_back()

    def _able(self) -> list[int]:
        able = self.isr or self.eligible
        return [node for node in self.replicas if node in able and node in self.alive]

    def _elects(self, unclean: bool) -> None:
        able = self._able()
        if able and able[0] not in self.isr:
            self._cut_to(able[0])
            self.isr, self.eligible = {able[0]}, self.eligible - {able[0]}
        alive = [node for node in self.replicas if node in self.alive]
        if not able and alive and unclean:
            self._leads_alone(alive[0])
            return
        next_one = able[0] if able else NO_NODE
        stay = {way for way in self.ways if way[0] in able or way[0] == next_one}
        self.ways = stay | {(next_one, epoch + 1) for leader, epoch in self.ways if (leader, epoch) not in stay}
        self.may_go_back()

    def _leads_alone(self, node: int) -> None:
        self._cut_to(node)
        self.isr, self.eligible = {node}, set()
        self.ways = {(node, epoch + (leader != node)) for leader, epoch in self.ways}
        self.may_go_back()

    def _cut_to(self, node: int) -> None:
        """Its log is the log from now on; the others give up what it has not."""
        for other in self.replicas:
            self.had.setdefault(other, len(self.log))
        self.uncommitted = max(0, self.uncommitted - (len(self.log) - self.had[node]))
        self.cuts += self.had[node] < len(self.log)
        self.log = self.log[: self.had[node]]

    # what an administrator asks for

    def elected_when_asked(self, unclean: bool) -> dict[int, set[Way]]:
        """What ElectLeaders may answer, and what leads then."""
        found: dict[int, set[Way]] = {}
        for leader, epoch in self.ways:
            code, way = self._asked(leader, epoch, unclean)
            found.setdefault(code, set()).add(way)
        return found

    def _asked(self, leader: int, epoch: int, unclean: bool) -> tuple[int, Way]:
        first, same = self.replicas[0], (leader, epoch)
        if unclean:
            alive = [node for node in self.replicas if node in self.alive]
            if leader != NO_NODE:
                return NOT_NEEDED, same
            return (errors.NONE, (alive[0], epoch + 1)) if alive else (NO_LIVING, same)
        if leader == first:
            return NOT_NEEDED, same
        return (errors.NONE, (first, epoch + 1)) if first in self._able() else (NOT_PREFERRED, same)

    def was_elected(self, code: int, unclean: bool) -> None:
        """ElectLeaders was answered so."""
        ways = self.elected_when_asked(unclean)[code]
        if code == errors.NONE and unclean:
            (node,) = {leader for leader, _ in ways}
            self._leads_alone(node)
        else:
            self.ways = ways
            self.may_go_back()

    # what it answers

    def codes(self, node: int, epoch: int) -> set[int]:
        """What a node may answer to a client that asks for the leader and knows this epoch (-1: none).

        A replica looks at the epoch before it says that it does not lead (Partition.getLocalLog, in each release since
        2.1), and knows the epoch in which nobody leads too; a node without the partition does not look.
        """
        if node not in self.replicas:
            return {errors.NOT_LEADER_OR_FOLLOWER}
        found = set()
        for leader, current in self.ways:
            if epoch not in (-1, current):
                found.add(errors.FENCED_LEADER_EPOCH if epoch < current else errors.UNKNOWN_LEADER_EPOCH)
            elif leader == node:
                found.add(errors.NONE)
            else:
                found |= {errors.NOT_LEADER_OR_FOLLOWER, *([errors.LEADER_NOT_AVAILABLE] * (leader == NO_NODE))}
        return found


def taken_apart(first: ElectedPartition, second: ElectedPartition) -> None:
    """Two things happened in an order that is not known: `first` as it is after one order, and may be as `second`."""
    first.ways |= second.ways
