"""Groups that have all the members that they may have: who is of them already gets in (group.consumer.max.size)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire import errors
from brokertrial.wire.messages import request

SIZE = "group.consumer.max.size"
PARTITIONS, WITHIN_S, AWAY = 4, 30, -2


@case(
    "groups/full-group-has-room-for-its-own",
    guarantees=["grp-018", "g848-003"],
    apis={"ConsumerGroupHeartbeat": 0, "ConsumerGroupDescribe": 0},
    features={"group.version": 1},
    needs=["chosen-settings", "partitions", "terminate", "restart"],
    detects=["K24"],
)
def a_static_member_is_of_the_group_while_it_is_away(wire, topic_of, rng, nodes):
    """Where a KIP-848 group has reached its maximum size (group.consumer.max.size), a static member that left for a
    while (-2) MUST be accepted again under its instance id, with whatever member id, and have its partitions; a new
    member MUST be refused (81) while it is away and after, and be accepted once a member has left for good.

    One to three members, of which one or more are static, away one by one and all at once.
    """
    size = rng.randint(1, 3)
    nodes.start_with({SIZE: str(size)})
    await_leaders(wire)
    topic, group = topic_of(partitions=PARTITIONS), wire.name("g")
    names = ["i-0", *(rng.choice((None, f"i-{number}")) for number in range(1, size))]
    members = [ConsumerGroupMember(wire, group, topic, instance_id=name) for name in names]
    for member in members:
        member.beat().must_succeed()
    reconcile(*members, partitions=PARTITIONS)
    static = [number for number, name in enumerate(names) if name]
    for going in ([static[0]], rng.sample(static, len(static))):
        had = {}
        for number in going:
            had[number] = members[number].owned
            members[number].leave(AWAY).must_succeed()
            _must_be_full(wire, group, topic, rng)
        for number in rng.sample(going, len(going)):
            members[number] = ConsumerGroupMember(wire, group, topic, instance_id=names[number])
            members[number].beat().must_succeed()
            _must_be_full(wire, group, topic, rng)
        reconcile(*members, partitions=PARTITIONS)
        for number in going:
            has = sorted(members[number].owned)
            wire.must(
                has == sorted(had[number]), f"the member of {names[number]} has {has}; it had {sorted(had[number])}"
            )
        _must_have(wire, group, members)
    members.pop(rng.randrange(size)).leave().must_succeed()
    members.append(ConsumerGroupMember(wire, group, topic))
    members[-1].beat().must_succeed()
    reconcile(*members, partitions=PARTITIONS)
    _must_have(wire, group, members)


def _must_be_full(wire, group, topic, rng):
    """One more, static or not, is refused, and is not of the group."""
    new = ConsumerGroupMember(wire, group, topic, instance_id=rng.choice((None, "i-new")))
    new.beat().must_be_refused(errors.GROUP_MAX_SIZE_REACHED)


def _must_have(wire, group, members):
    asked = request("ConsumerGroupDescribe", group_ids=[group])
    answer = wire.ask(asked, to=lambda: wire.coordinator(group)).must_succeed()
    found = sorted(row.member_id for row in answer.struct.groups[0].members)
    wanted = sorted(member.id for member in members)
    answer.must(found == wanted, f"the group has {found}; its members are {wanted}", "groups[0].members")
