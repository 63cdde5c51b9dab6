"""Members of a KIP-848 group whose heartbeats arrive at one moment: some come, some go, some read other topics."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe.at_once import once

MOMENTS, MOST, LEAST, WITHIN_S, LONG_MS = 30, 9, 2, 60, 120_000
PARTITIONS = {"t": 7, "u": 5}
ACTS = (*["beats"] * 5, "reads others", "leaves", "is silent")


@case(
    "groups/consumers-at-one-moment",
    guarantees=["g848-001", "g848-002", "g848-005", "g848-013"],
    since="4.0 (KIP-848)",
    apis={"ConsumerGroupHeartbeat": 1},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["M24b"],
)
def no_partition_has_two_owners(wire, topic_of, group, rng):
    """Where members join, leave, read other topics and send heartbeats at one moment, each MUST be answered, and no
    partition MUST be assigned to two of them; once all read the same topics they MUST come to share these evenly.

    30 moments, up to nine members, two topics of seven and five partitions.
    """
    counts = {topic_of(what=what, partitions=count, replicas=1): count for what, count in PARTITIONS.items()}
    members = [Reader(wire, group, sorted(counts)) for _ in range(LEAST)]
    for _ in range(MOMENTS):
        acts = {member: rng.choice(ACTS) for member in members}
        for member in [member for member, act in acts.items() if act == "leaves"][len(members) - LEAST :]:
            acts[member] = "beats"
        for _ in range(rng.choice((0, 0, 1, 2))):
            if len(acts) < MOST:
                acts[Reader(wire, group, _some(counts, rng))] = "beats"
        members = [member for member, act in acts.items() if act != "leaves"]
        for member, act in acts.items():
            if act == "reads others":
                member.reads = _some(counts, rng)
        _at_one_moment(acts, rng)
        _must_be_apart(wire, members)
    for member in members:
        member.reads = sorted(counts)
    wire.until(
        lambda: _share(wire, members, sum(counts.values()), rng),
        within=WITHIN_S,
        what=f"{len(members)} members share {sum(counts.values())} partitions evenly",
    )


class Reader:
    """A member: what it reads, what it has said that it reads, and what it was told to own."""

    def __init__(self, wire, group, reads):
        self.wire, self.group, self.reads = wire, group, reads
        self.id, self.epoch = wire.name("m"), 0
        self.owned: frozenset[tuple[str, int]] = frozenset()

    def ask(self, act):
        """How to send its next heartbeat; it says all that there is to say."""
        owned: dict[str, list[int]] = {}
        for topic, index in sorted(self.owned):
            owned.setdefault(topic, []).append(index)
        return partial(
            self.wire.consumer_group_heartbeat,
            self.group,
            self.id,
            -1 if act == "leaves" else self.epoch,
            topics=self.reads,
            owned=owned,
            rebalance_timeout_ms=LONG_MS,
            via=self.id,
        )

    def take(self, answer):
        told = answer.must_succeed().struct
        if told.member_epoch < 0:
            return
        answer.must(
            told.member_epoch >= self.epoch, f"its epoch is {told.member_epoch}; it was {self.epoch}", "member_epoch"
        )
        self.epoch = told.member_epoch
        if told.assignment is not None:
            names = {self.wire.topic_id(name): name for name in self.wire.known_topics}
            self.owned = frozenset(
                (names.get(topic.topic_id, "?"), index)
                for topic in told.assignment.topic_partitions
                for index in topic.partitions
            )


def _at_one_moment(acts, rng):
    asking = [member for member in rng.sample(list(acts), len(acts)) if acts[member] != "is silent"]
    if not asking:
        return
    for member, answer in zip(
        asking, once(asking[0].wire, [member.ask(acts[member]) for member in asking]), strict=True
    ):
        member.take(answer)


def _must_be_apart(wire, members):
    owners = {}  # type: ignore[var-annotated]
    for member in members:
        for place in member.owned:
            other = owners.setdefault(place, member)
            wire.must(
                other is member, f"partition {place[1]} of {place[0]} is assigned to two of {len(members)} members"
            )


def _share(wire, members, partitions, rng):
    _at_one_moment(dict.fromkeys(members, "beats"), rng)
    _must_be_apart(wire, members)
    sizes = [len(member.owned) for member in members]
    return sum(sizes) == partitions and max(sizes) - min(sizes) < 2


def _some(counts, rng):
    return sorted(rng.sample(sorted(counts), rng.randint(1, len(counts))))
