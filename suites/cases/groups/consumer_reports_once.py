"""A KIP-848 member that reports what it owns only when that has changed, as Kafka's consumer does (KAFKA-16249)."""

from typing import Any

from brokertrial.histories.rows import PartitionId
from brokertrial.suites.case import case

BEAT = "ConsumerGroupHeartbeat"
PARTITIONS, WITHIN_S, PATIENT_MS = 4, 30, 300_000
ALSO = (
    "nothing",
    "growth",
    "another topic",
    "another assignor",
    "a member comes",
    "a member goes",
    "it reads the same",
)


@case(
    "groups/consumer-reports-once",
    guarantees=["g848-005", "g848-002"],
    apis={BEAT: 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["Z46"],
)
def what_is_reported_once_counts(wire, topic_of):
    """A member that reports once that it has revoked what it was asked to MUST go on to the epoch of its group,
    whatever else that heartbeat brings or finds, and the group MUST settle without a second report.

    Seven groups: the heartbeat brings nothing else, another topic, another assignor, the same topics again; before it
    the topic grew, a member came, a member left. Each member reports what it owns only when that has changed.
    """
    for also in ALSO:
        with wire.part(also):
            _must_settle_after(wire, topic_of, also)


def _must_settle_after(wire, topic_of, also):
    group, topic, other = wire.name("g"), topic_of(partitions=PARTITIONS), topic_of(what="u")
    one, two, three = (_Sparing(wire, group, topic, other) for _ in range(3))
    _settle(wire, [one], PARTITIONS)
    two.beat()
    wire.until(lambda: one.beat(revokes=False).held, within=WITHIN_S, what="the first member is to revoke something")
    members, partitions = [one, two], PARTITIONS
    brings: dict[str, Any] = {}
    if also == "growth":
        partitions += 2
        wire.create_partitions(topic, partitions).must_succeed()
        wire.await_topic(topic)
    elif also == "a member comes":
        members.append(three)
        three.beat()
    elif also == "a member goes":
        members.remove(two)
        two.leave()
    elif also == "another topic":
        partitions += 1
        brings = {"topics": [topic, other]}
    elif also == "another assignor":
        brings = {"assignor": "range"}
    elif also == "the same topics":
        brings = {"topics": [topic]}
    one.beat(**brings)
    _settle(wire, members, partitions)


def _settle(wire, members, partitions):
    def settled():
        for each in members:
            each.beat()
        owned = [part for each in members for part in each.owned]
        return len(owned) == len(set(owned)) == partitions and len({each.epoch for each in members}) == 1

    wire.until(
        settled, within=WITHIN_S, what=f"{partitions} partitions are owned by {len(members)} members in one epoch"
    )


class _Sparing:
    """A member that reports nothing twice; what it must revoke it holds until a heartbeat that revokes."""

    def __init__(self, wire, group, *topics):
        self.wire, self.group, self.id, self.epoch = wire, group, wire.name("m"), 0
        self.names = {wire.topic_id(topic): topic for topic in topics}
        self.joins_with = {"topics": topics[:1], "rebalance_timeout_ms": PATIENT_MS, "assignor": "uniform"}
        self.owned: frozenset[PartitionId] = frozenset()
        self.held = self.reported = self.owned

    def beat(self, *, revokes=True, **brings):
        self.held = frozenset() if revokes else self.held
        before, has = self.owned, self.owned | self.held
        changed = has != self.reported or not self.epoch
        brings = brings if self.epoch else self.joins_with
        answer = self.wire.consumer_group_heartbeat(
            self.group, self.id, self.epoch, owned=_by_topic(has) if changed else None, **brings
        ).must_succeed()
        self.reported, self.epoch = has, answer.struct.member_epoch
        if answer.struct.assignment is not None:
            rows = answer.struct.assignment.topic_partitions
            self.owned = frozenset((self.names[row.topic_id], index) for row in rows for index in row.partitions)
            self.held |= before - self.owned
        return self

    def leave(self):
        self.wire.consumer_group_heartbeat(self.group, self.id, -1).must_succeed()


def _by_topic(parts):
    return {topic: sorted(index for each, index in parts if each == topic) for topic in {each for each, _ in parts}}
