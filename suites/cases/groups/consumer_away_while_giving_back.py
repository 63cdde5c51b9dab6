"""Static KIP-848 members that leave for a while (-2) in the middle of a rebalance (KIP-848, KIP-345).

GroupMetadataManager.consumerGroupStaticMemberGroupLeave takes from who leaves so what it was still to give back: it has
stopped reading. What it keeps waits for it.
"""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile

AWAY, WITHIN_S, PARTITIONS, BEATS = -2, 20, 6, 3
STAGES = ("called", "part", "not called", "kept")
"""Called to give back it has given back nothing, or a part; it is not called yet; or it has given back all."""


@case(
    "groups/consumer-away-while-giving-back",
    guarantees=["g848-007", "g848-002", "g848-005"],
    apis={"ConsumerGroupHeartbeat": 1},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["B178"],
)
def what_it_was_to_give_back_is_free(wire, topic_of, rng):
    """What a static member of a KIP-848 group is called to give back MUST go to the members that are to have it as soon
    as it leaves for a while (-2), and not when its rebalance timeout or its session is over; what it keeps MUST be
    given to no other meanwhile, and MUST be its own when it is back, under its member id or under a new one.

    In four groups a third member joins two static ones, one of which leaves: called to give back, with a part or all
    of that given back, or before it is called. The third is static or not.
    """
    for stage in rng.sample(STAGES, len(STAGES)):
        group, topic = wire.name("g"), topic_of(partitions=PARTITIONS)
        lengthen_sessions(wire, group)
        with wire.part(stage):
            _must_go_on(wire, group, topic, rng, stage)


def _must_go_on(wire, group, topic, rng, stage):
    leaves, stays = (ConsumerGroupMember(wire, group, topic, instance_id=name) for name in ("i1", "i2"))
    for each in (leaves, stays):
        each.beat().must_succeed()
    reconcile(leaves, stays, partitions=PARTITIONS)
    all_ = leaves.owned
    third = ConsumerGroupMember(wire, group, topic, instance_id=rng.choice(("i3", None)))
    third.beat().must_succeed()
    if stage != "not called":
        wire.until(lambda: _is_called(leaves, all_), within=WITHIN_S, what="a member is called to give back")
        leaves.held = all_ - leaves.owned if stage != "kept" else frozenset()
        leaves.held = frozenset(sorted(leaves.held)[1:]) if stage == "part" else leaves.held
        leaves.beat().must_succeed()
    keeps = leaves.owned
    leaves.leave(AWAY).must_succeed().must_have("member_epoch", AWAY)
    others = PARTITIONS - len(keeps)
    wire.eventually(lambda: _must_own_the_others((stays, third), keeps, others), within=WITHIN_S)
    for _ in range(BEATS):
        _must_own_the_others((stays, third), keeps, others)
    if rng.random() < 0.5:
        leaves.id = wire.name("m")
    leaves.owned = leaves.held = frozenset()
    answer = leaves.beat(epoch=0).must_succeed()
    wanted = keeps if stage != "not called" else leaves.owned & keeps
    back = sorted(leaves.owned)
    answer.must(leaves.owned == wanted, f"it comes back and is assigned {back}; it kept {sorted(keeps)}", "assignment")
    reconcile(leaves, stays, third, partitions=PARTITIONS)


def _is_called(member, owned):
    """Whether it is assigned fewer than it owns; it still says that it owns all of them."""
    member.beat(owned=owned).must_succeed()
    return member.owned < owned


def _must_own_the_others(members, keeps, others):
    answers = [each.beat().must_succeed() for each in members]
    for each, answer in zip(members, answers, strict=True):
        both = sorted(each.owned & keeps)
        answer.must(not both, f"{both} are given to another; who is away for a while keeps them", "assignment")
    found = sorted(part for each in members for part in each.owned)
    answers[-1].must(
        len(found) == len(set(found)) == others,
        f"while one is away who keeps {len(keeps)} of {PARTITIONS} the others own {len(found)}; they must own {others}",
        "assignment",
    )
