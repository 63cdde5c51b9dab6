"""Static members of a classic group that come back as members of KIP-848, one by one, and disturb nobody else."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._old_clients import RANGE, assignment, parts_of, subscription
from brokertrial.suites.probe.classic_member import join_together
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire import errors
from brokertrial.wire.messages import request

POLICY = "group.consumer.migration.policy"
UPGRADE, BOTH = "upgrade", "bidirectional"
PARTITIONS, LONG_MS, ROUNDS = 6, 60_000, 3


@case(
    "groups/changes-over-in-place",
    guarantees=["grp-015", "g848-014", "g848-007"],
    apis={"ConsumerGroupHeartbeat": 0, "ConsumerGroupDescribe": 0, "JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3},
    features={"group.version": 1},
    needs=["partitions"],
    detects=[edit_answer("error_code", set=errors.REBALANCE_IN_PROGRESS, api="Heartbeat")],
)
def a_static_member_changes_over_and_nobody_rebalances(wire, topic_of, rng):
    """Where group.consumer.migration.policy allows it, a static member of a classic group that comes back as one of
    KIP-848, under its instance id and with its topic, MUST be given the partitions that it had, and the group MUST NOT
    rebalance: its epoch is its generation, and the other members are not called, whatever was shared out among them.

    Two or three static members, perhaps a dynamic one, with uneven shares; the static ones change over one by one.
    """
    policy = (wire.setting(POLICY) or "").lower()
    if policy not in (UPGRADE, BOTH):
        wire.not_applicable(f"{POLICY} is {policy or 'not returned'}")
    topic, group = topic_of(partitions=PARTITIONS), wire.name("g")
    names = [f"i-{number}" for number in range(rng.randint(2, 3))] + rng.choice(([], [None]))
    old = _settled(wire, group, topic, names, rng)
    generation, new = next(iter(old.values()))[0].generation, []
    for name in rng.sample([name for name in names if name], len([name for name in names if name])):
        before, had = old.pop(name)
        came = ConsumerGroupMember(wire, group, topic, instance_id=name)
        came.beat().must_succeed()
        before.heartbeat().must_be_refused(errors.FENCED_INSTANCE_ID, errors.UNKNOWN_MEMBER_ID)
        new.append((came, had))
        for turn in range(ROUNDS):
            if turn == ROUNDS - 1:
                wire.rest(1)
            _must_stand(wire, group, old, new, generation)


def _settled(wire, group, topic, names, rng):
    """Classic members in one generation, by their instance ids, each with some partitions: one may have most."""
    times = {"session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS}
    brings = [(RANGE, subscription([topic]))]
    members = [wire.member(group, wire.name("old"), protocols=brings, instance_id=name, **times) for name in names]
    shares = [set() for _ in names]  # type: ignore[var-annotated]
    for number in range(PARTITIONS):
        rng.choice(shares).add((topic, number))
    leader = join_together(*members)
    given = {each.id: assignment(share) for each, share in zip(members, shares, strict=True)}
    answers = [each.sync(given if each is leader else None, wait=False) for each in members]
    for answer in answers:
        answer.must_succeed()
    return dict(zip(names, zip(members, map(frozenset, shares), strict=True), strict=True))


def _must_stand(wire, group, old, new, generation):
    """Who has not changed over is not called; each has what it had; and the group is where it was."""
    for member, had in old.values():
        beat = member.heartbeat()
        beat.must(not beat.error, f"a member that stays as it is is answered {errors.name(beat.error)}", "error_code")
        has = parts_of(member.sync().must_succeed().assignment)
        wire.must(has == had, f"a member that stays as it is had {sorted(had)} and has {sorted(has)}")
    for member, had in new:
        member.beat().must_succeed()
        wire.must(member.owned == had, f"who changed over had {sorted(had)} and is to own {sorted(member.owned)}")
        wire.must(member.epoch == generation, f"its epoch is {member.epoch}; its generation was {generation}")
    asked = request("ConsumerGroupDescribe", group_ids=[group])
    described = wire.ask(asked, to=lambda: wire.coordinator(group)).must_succeed()
    row = described.struct.groups[0]
    found = (row.group_epoch, row.assignment_epoch)
    what = f"the group is in epoch {found[0]}, its assignment of {found[1]}; its generation was {generation}"
    described.must(found == (generation, generation), what, "groups[0].group_epoch")
