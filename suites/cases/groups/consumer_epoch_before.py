"""Heartbeats of a KIP-848 member in the epoch before: an answer that got lost, or a member that slept too long."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors

PARTITIONS = 6


@case(
    "groups/consumer-epoch-before",
    guarantees=["g848-003", "g848-010", "g848-002"],
    apis={"ConsumerGroupHeartbeat": 1},
    features={"group.version": 1},
    detects=["B215", "M24c"],
)
def only_who_claims_no_more_than_its_own_goes_on(wire, topic_of, group, rng):
    """In its previous epoch a member MUST be accepted, and given the present one, where it claims all, some or none of
    the partitions that it is assigned now, and MUST be fenced (110) where it claims one that it has given back, or does
    not say what it owns: others read that by now. A refused heartbeat MUST change nothing, and who was fenced MUST be
    able to join again.

    One member owns six partitions; two come, one after the other, and each time it gives some back.
    """
    topic = topic_of(partitions=PARTITIONS)
    lengthen_sessions(wire, group)
    one = ConsumerGroupMember(wire, group, topic)
    members = [one]
    one.beat().must_succeed()
    reconcile(one, partitions=PARTITIONS)
    before, had = one.epoch, one.owned
    for _ in range(2):
        had = one.owned
        members.append(ConsumerGroupMember(wire, group, topic))
        members[-1].beat().must_succeed()
        before = _settled(wire, one, members)
        if one.owned <= had:  # a broker that moves more than it must may know no epoch before
            before = _must_be_judged_by_what_it_claims(wire, one, before, had - one.owned, rng)
    one.beat(epoch=before, owned=had).must_be_refused(errors.FENCED_MEMBER_EPOCH)
    one.epoch, one.owned = 0, frozenset()
    one.beat().must_succeed()
    reconcile(*members, partitions=PARTITIONS)


def _settled(wire, one, members):
    """Heartbeats go round until all own as much; the epoch that the first one was in before its present one."""
    epochs = [one.epoch]

    def settled():
        for member in members:
            member.beat().must_succeed()
            epochs.extend([one.epoch] if one.epoch != epochs[-1] else [])
        owned = [part for member in members for part in member.owned]
        shared = len(owned) == len(set(owned)) == PARTITIONS and len({len(each.owned) for each in members}) == 1
        return shared and len({member.epoch for member in members}) == 1 and len(epochs) > 1

    wire.until(settled, within=30, what=f"{len(members)} members own as many partitions each, in one epoch")
    return epochs[-2]


def _must_be_judged_by_what_it_claims(wire, one, before, gone, rng):
    """Its epoch may rise once more meanwhile, by a heartbeat that is accepted."""
    now, mine = one.epoch, sorted(one.owned)
    given_back = frozenset(rng.sample(sorted(gone), 1))
    for claims in (one.owned | gone, one.owned | given_back, given_back, frozenset(mine[:1]) | given_back):
        one.beat(epoch=before, owned=claims).must_be_refused(errors.FENCED_MEMBER_EPOCH)
    silent = wire.consumer_group_heartbeat(one.group, one.id, before)
    silent.must_be_refused(errors.FENCED_MEMBER_EPOCH)
    for claims in (one.owned, frozenset(mine[:1]), frozenset()):
        answer = one.beat(epoch=before, owned=claims).must_succeed()
        answer.must(one.epoch >= now, f"it is given epoch {one.epoch}; it is in {now}", "member_epoch")
        answer.must(sorted(one.owned) == mine, f"it is assigned {sorted(one.owned)}; it was {mine}", "assignment")
        before, now = (now, one.epoch) if one.epoch > now else (before, now)
    return before
