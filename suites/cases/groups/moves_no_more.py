"""What moves when a KIP-848 group changes: no more than evenness takes (KIP-848, the uniform assignor)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile

MOST = 5
STEPS = ("comes", "comes", "goes", "grows", "comes back")


@case(
    "groups/moves-no-more-than-it-must",
    guarantees=["g848-017", "g848-002", "g848-005"],
    apis={"ConsumerGroupHeartbeat": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["K15"],
)
def who_stays_keeps_what_it_may(wire, topic_of, rng):
    """Where all members read the same topics and the assignor is `uniform`, remaining members SHOULD keep as much of
    what they own as evenness allows, whichever members join or leave and whichever topic grows.

    Up to five members, two topics, 9 drawn steps; a member may come back in the place of one that has gone.
    """
    counts = {topic_of(partitions=3): 3, topic_of(partitions=rng.randrange(1, 5), what="u"): 0}
    counts = {topic: len(wire.known_partitions(topic)) for topic in counts}
    group, members = wire.name("g"), []
    lengthen_sessions(wire, group)
    members.append(_comes(wire, group, counts))
    reconcile(*members, partitions=sum(counts.values()))
    for _ in range(9):
        before = {one.id: one.owned for one in members}
        step = rng.choice(STEPS)
        if step == "goes" and len(members) > 1:
            members.remove(one := rng.choice(members))
            one.leave().must_succeed()
        elif step == "comes back":
            members.remove(one := rng.choice(members))
            one.leave().must_succeed()
            members.append(_comes(wire, group, counts))
        elif step == "grows":
            topic = rng.choice(list(counts))
            counts[topic] += rng.randrange(1, 4)
            wire.create_partitions(topic, counts[topic]).must_succeed()
            wire.await_topic(topic)
        elif len(members) < MOST:
            members.append(_comes(wire, group, counts))
        total = sum(counts.values())
        reconcile(*members, partitions=total)
        stayed = {one.id: before[one.id] for one in members if one.id in before}
        given_up = {one.id: stayed[one.id] - one.owned for one in members if one.id in stayed}
        least = _must_be_given_up([len(owned) for owned in stayed.values()], total, len(members))
        wire.must(
            sum(map(len, given_up.values())) <= least,
            f"{step}: {len(members)} members share {total} partitions; those that stayed had {_lists(stayed)} and gave "
            f"up {_lists(given_up)}; evenness takes {least}",
        )


def _comes(wire, group, counts):
    member = ConsumerGroupMember(wire, group, *counts, assignor="uniform")
    member.beat().must_succeed()
    return member


def _must_be_given_up(had, total, members):
    """Each may keep the even share, and as many of them one more as there are left over."""
    share, over = divmod(total, members)
    kept = sum(min(each, share) for each in had) + min(over, sum(each > share for each in had))
    return sum(had) - kept


def _lists(places):
    return [sorted(each) for each in places.values()]
