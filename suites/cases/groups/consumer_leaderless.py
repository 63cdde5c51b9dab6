"""KIP-848 groups whose topics have partitions without a leader for a while."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile

BEATS, PAUSE_S = 12, 0.25


@case(
    "groups/consumer-owns-what-has-no-leader",
    guarantees=["g848-002", "g848-005", "g848-013"],
    apis={"ConsumerGroupHeartbeat": 0, "CreateTopics": 5},
    features={"group.version": 1},
    needs=["started", "three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    detects=["B93"],
)
def partitions_without_a_leader_count_as_any(wire, group, nodes, rng):
    """A partition that has no leader MUST stay with the member of a KIP-848 group that owns it, and no other MUST be
    taken away for it; a member that comes meanwhile MUST share all of the topic's partitions with those that are there.
    So it MUST be when there is a leader again.

    Partitions of one copy each on every node, of two topics; a node that does not coordinate the group is dead for a
    while.
    """
    topics = [_made(wire, rng, what) for what in ("one", "two")]
    total = sum(len(on) for _, on in topics)
    names = [topic for topic, _ in topics]
    lengthen_sessions(wire, group)
    members = [ConsumerGroupMember(wire, group, *names) for _ in range(rng.randint(1, 2))]
    for member in members:
        member.beat().must_succeed()
    reconcile(*members, partitions=total)
    owned = [member.owned for member in members]

    coordinator = wire.coordinator(group)
    dead = rng.choice([node for node in wire.nodes if node != coordinator])
    nodes.kill(dead)
    for topic, on in topics:
        wire.until(
            lambda at=topic, on=on: _is_lost(wire, at, on, coordinator, dead), within=WITHIN_S, what="it is dead"
        )
    _must_stay(wire, members, owned, dead)
    members.append(ConsumerGroupMember(wire, group, *names))
    wire.eventually(lambda: _must_share(members, topics), within=WITHIN_S)
    nodes.start(dead)
    for topic in names:
        wire.await_topic(topic)
    _must_stay(wire, members, [member.owned for member in members], dead)


def _made(wire, rng, what):
    """A topic of three partitions or more, and the node that each is on."""
    topic, on = wire.name(what), [*rng.sample(wire.nodes, 3), *rng.choices(wire.nodes, k=rng.randint(0, 2))]
    assigned = {index: [node] for index, node in enumerate(on)}
    configs = {"min.insync.replicas": "1"}
    wire.create_topic(topic, partitions=-1, assignments=assigned, configs=configs).must_succeed()
    wire.await_topic(topic)
    return topic, on


def _is_lost(wire, topic, on, asked, dead):
    rows = wire.metadata(topic, to=asked).struct.topics[0].partitions
    return all(row.leader_id == NO_NODE for row in rows if on[row.partition_index] == dead)


def _must_stay(wire, members, owned, dead):
    for _ in range(BEATS):
        for member, had in zip(members, owned, strict=True):
            answer = member.beat().must_succeed()
            answer.must(
                member.owned == had,
                f"it is to own {sorted(member.owned)}; it owned {sorted(had)}, and node {dead} came or went alone",
                "assignment",
            )
        wire.rest(PAUSE_S)


def _must_share(members, topics):
    answer = [member.beat().must_succeed() for member in members][-1]
    owned = sorted(place for member in members for place in member.owned)
    wanted = sorted((topic, index) for topic, on in topics for index in range(len(on)))
    sizes = sorted(len(member.owned) for member in members)
    epochs = [member.epoch for member in members]
    answer.must(owned == wanted, f"its members own {owned}; they must own {wanted}", "assignment")
    answer.must(sizes[0] > 0, f"its members own {sizes} partitions; each must own some", "assignment")
    answer.must(len(set(epochs)) == 1, f"its members are in epochs {epochs}; they must come to one", "member_epoch")
