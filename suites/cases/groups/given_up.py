"""Topics that a KIP-848 member gives up: its next answer says so, wherever it is in a rebalance (KAFKA-19431)."""

from typing import Any

from brokertrial.histories.rows import PartitionId
from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember

BEAT = "ConsumerGroupHeartbeat"
PARTITIONS, WITHIN_S = 4, 40
KINDS = ("names", "pattern", "both")
ROUNDS = [(kind, beside) for kind in KINDS for beside in (True, False)]


@case(
    "groups/topics-given-up-at-once",
    guarantees=["g848-005", "g848-016"],
    level="should",
    apis={BEAT: 1},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["K26", "K27"],
)
def who_gives_up_topics_is_answered_at_once(wire, topic_of, group, rng):
    """A member that changes its subscription, by names, by a pattern or by both, SHOULD be assigned no partition of a
    topic that it has given up in the answer to that heartbeat, also while it has others to revoke or waits for them;
    and in the end each partition of a subscribed topic MUST be owned by one member, which subscribes to it.

    Three topics, two members. In each of three ways, beside the other and alone, one reads all, and gives up a topic
    while it still holds another that it gave up before; then it reads drawn ones.
    """
    topics = [topic_of(partitions=PARTITIONS, what=what) for what in ("a", "b", "c")]
    one, other = members = [ReaderOfOthers(wire, group, topics) for _ in range(2)]
    for kind, beside in rng.sample(ROUNDS, len(ROUNDS)):
        other.reads("both", rng.sample(topics, 2 if beside else 0))
        left = rng.sample(topics, len(topics))
        one.reads("both", left if kind != "pattern" else [], left if kind != "names" else [])
        _must_settle(wire, members)
        while len(left) > 1 or (left and rng.random() < 0.5):
            left.pop()
            one.reads(kind, left, left)
            for _ in range(rng.randrange(3)):
                rng.choice(members).beat()
        one.reads(rng.choice(KINDS), rng.sample(topics, 2), rng.sample(topics, 1))
        _must_settle(wire, members)


class ReaderOfOthers:
    """A member, and what it said last that it reads."""

    def __init__(self, wire, group, topics):
        self.member, self.all = ConsumerGroupMember(wire, group, *topics), topics
        self.names: frozenset[str] = frozenset()
        self.matched: frozenset[str] = frozenset()
        self.holds: frozenset[PartitionId] = frozenset()

    @property
    def topics(self):
        return self.names | self.matched

    def reads(self, what, names, matched=()):
        """From this heartbeat on it names others, matches others by its pattern, or both."""
        changes: dict[str, Any] = {"rebalance_timeout_ms": 60_000}
        if what != "pattern":
            self.names = frozenset(names)
            changes["topics"] = tuple(sorted(self.names))
        if what != "names":
            self.matched = frozenset(matched)
            changes["regex"] = "|".join(sorted(self.matched))
        self.beat(**changes)

    def beat(self, *, gives_back=False, **changes):
        """It reports that it owns what it has not revoked yet, and receives its assignment."""
        self.holds = self.member.owned if gives_back else self.holds | self.member.owned
        owned = None if not self.member.epoch else self.holds
        answer = self.member.beat(owned=owned, **changes).must_succeed()
        given_up = sorted({topic for topic, _ in self.member.owned} - self.topics)
        answer.must(not given_up, f"it reads {sorted(self.topics)}, and is told to own partitions of {given_up}")


def _must_settle(wire, members):
    read = {(topic, index) for one in members for topic in one.topics for index in range(PARTITIONS)}

    def settled():
        for one in members:
            one.beat(gives_back=True)
        owned = [part for one in members for part in one.member.owned]
        return len(owned) == len(set(owned)) and set(owned) == read

    wire.until(settled, within=WITHIN_S, what="each partition of the topics that are read is owned by one member")
