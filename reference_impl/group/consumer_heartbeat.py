"""The KIP-848 protocol: everything a member asks comes as a heartbeat.

Epoch 0 joins, -1 leaves, -2 leaves for a while (static members), anything else keeps alive and reconciles. Every
function takes the group, what happened and the time, changes the group, and says what must be written. The rules are
those of Kafka's GroupMetadataManager.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group.assignors import ASSIGNORS, Candidate
from brokertrial.reference_impl.group.consumer import (
    LEFT_FOR_A_WHILE,
    NOTHING,
    Catalogue,
    ConsumerGroup,
    ConsumerMember,
    MemberState,
    Parts,
)
from brokertrial.reference_impl.group.consumer_effects import (
    Beat,
    GroupChange,
    MemberGone,
    Refusal,
    SavedConsumerMember,
    SavedGroup,
    SavedProgress,
    SavedTarget,
    SavedTargetEpoch,
)
from brokertrial.reference_impl.group.reconciliation import reconciled, without
from brokertrial.reference_impl.patterns import Pattern
from brokertrial.wire import errors


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A ConsumerGroupHeartbeat request, freed of its version; None is what the member did not say."""

    member_id: str
    epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    names: frozenset[str] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Parts | None = None
    client_id: str = ""
    client_host: str = ""

    @property
    def is_full(self) -> bool:
        """A request that says everything asks for everything."""
        said_all = self.rebalance_timeout_ms != -1 and self.owned is not None
        if bugs.on("G12"):
            return self.epoch == 0
        if bugs.on("Z28"):
            return self.epoch == 0 or self.owned is not None
        return self.epoch == 0 or (said_all and (self.names is not None or self.regex is not None))


@dataclass(frozen=True, slots=True)
class ConsumerLimits:
    """The settings in force for one group."""

    session_timeout_ms: int = 45_000
    max_size: int = 2**31 - 1


def heartbeat(
    group: ConsumerGroup, request: Heartbeat, topics: Catalogue, now: int, limits: ConsumerLimits
) -> Beat | Refusal:
    """A member joins, or shows that it is alive and what it owns; it is told its epoch and what changed for it."""
    if len(group.members) >= limits.max_size and not _is_of(group, request):
        return Refusal(errors.GROUP_MAX_SIZE_REACHED, f"The consumer group has {limits.max_size} members already.")
    changes: list[GroupChange] = []
    assignor = group.assignor()
    found = _member(group, request, changes)
    if isinstance(found, Refusal):
        if ("session", request.member_id) in group.deadlines and bugs.on("D04"):
            group.deadlines["session", request.member_id] = now + limits.session_timeout_ms
        return found
    updated = _updated(found, request)
    if updated != group.members.get(found.member_id):
        changes.append(SavedConsumerMember(updated))
    group.put(updated)
    other_pattern = updated.regex != found.regex or (request.regex is not None and bugs.on("B50"))
    wishes_others = updated.names != found.names or (other_pattern and not bugs.on("W13"))
    wishes_others |= group.assignor() != assignor and not bugs.on("B200")
    _refresh(group, topics, changes, bump=wishes_others and not (_came_back(found) and bugs.on("V12")))
    owned = request.owned
    if group.epoch > group.assignment_epoch:
        _retarget(group, topics, changes)
        owned = None if bugs.on("Z46") else owned
    target = group.target.get(updated.member_id, NOTHING)
    after = reconciled(updated, group.assignment_epoch, target, group.owners, owned)
    if _reads_others(found, updated):
        after = without(after, _may_own(updated, topics))
    if after != updated:
        changes.append(SavedProgress(after))
        group.put(after)
        _watch_revocation(group, after, now)
    if found.epoch or not bugs.on("U25"):
        group.deadlines["session", after.member_id] = now + limits.session_timeout_ms
    changed = after.assigned != found.assigned
    return Beat(after.member_id, after.epoch, after.assigned if request.is_full or changed else None, changes)


def leave(group: ConsumerGroup, member_id: str, instance_id: str | None, epoch: int) -> Beat | Refusal:
    """A member goes for good (-1) or, if it is static, for a while (-2): then its partitions wait for it."""
    if instance_id is not None:
        if refusal := _not_the_holder(group, member_id, instance_id):
            return refusal
    elif member_id not in group.members:
        return _unknown(group, member_id)
    if epoch == LEFT_FOR_A_WHILE and not bugs.on("M24d"):
        leaves = group.members[member_id]
        since = {part: epoch for part, epoch in leaves.since.items() if part in leaves.assigned}
        pending = leaves.revoking if bugs.on("B178") else NOTHING
        away = replace(leaves, epoch=LEFT_FOR_A_WHILE, revoking=pending, since=since)
        group.put(away)
        if bugs.on("E06"):
            group.deadlines.pop(("session", member_id), None)
        return Beat(member_id, epoch, None, [SavedProgress(away)])
    return Beat(member_id, epoch, None, _fence(group, member_id))


def tick(group: ConsumerGroup, now: int) -> list[GroupChange]:
    """Removes members that were silent too long, or that do not give back what they must."""
    changes: list[GroupChange] = []
    due = sorted((at, key) for key, at in group.deadlines.items() if at <= now)
    for number, (_, key) in enumerate(due):
        if number and bugs.on("B286"):
            del group.deadlines[key]
        kind, member_id = key
        if group.deadlines.pop(key, None) is None or member_id not in group.members:
            continue
        if kind == "session" and bugs.on("M26d"):
            continue
        changes += _fence(group, member_id)
    return changes


def loaded(group: ConsumerGroup, now: int, limits: ConsumerLimits) -> None:
    """Starts the sessions of a group that was read back: its members may or may not still be there."""
    for member in group.members.values():
        if not bugs.on("U28"):
            group.deadlines["session", member.member_id] = now + limits.session_timeout_ms
        if not bugs.on("U29"):
            _watch_revocation(group, member, now)


def resolved(group: ConsumerGroup, topics: Collection[str]) -> frozenset[str]:
    """Those of these topics that the members' names and patterns amount to."""
    members = [m for m in group.members.values() if m.epoch != LEFT_FOR_A_WHILE or not bugs.on("B51")]
    patterns = [Pattern(text) for text in {m.regex for m in members if m.regex}]
    named = {name for m in members for name in m.names if name in topics}
    return frozenset(named | {name for name in topics if any(p.matches(name) for p in patterns)})


def _is_of(group: ConsumerGroup, request: Heartbeat) -> bool:
    """By its id, or as the one who holds its instance id, who may be away."""
    return request.member_id in group.members or (request.instance_id in group.static and not bugs.on("K24"))


# -- members ---------------------------------------------------------------------------------------------------


def _member(group: ConsumerGroup, request: Heartbeat, changes: list[GroupChange]) -> ConsumerMember | Refusal:
    """The member that asks, made if it joins."""
    joins = request.epoch == 0
    if request.instance_id is None:
        known = group.members.get(request.member_id)
        if known is None:
            return ConsumerMember(request.member_id) if joins else _unknown(group, request.member_id)
        if joins and known.epoch > 2 and bugs.on("K07"):
            return _in_epoch(known, request) or known
        return known if joins else _in_epoch(known, request) or known
    if not joins:
        if refusal := _not_the_holder(group, request.member_id, request.instance_id):
            return refusal
        holder = group.members[request.member_id]
        return _in_epoch(holder, request) or holder
    held = group.static.get(request.instance_id)
    if held is None:
        return ConsumerMember(request.member_id)
    before = group.members[held]
    if before.epoch != LEFT_FOR_A_WHILE:
        return Refusal(
            errors.UNRELEASED_INSTANCE_ID,
            f"Static member {request.member_id} with instance id {request.instance_id} cannot join the group because "
            f"the instance id is owned by {held} member.",
        )
    return _replaced(group, before, request.member_id, changes)


def _replaced(
    group: ConsumerGroup, before: ConsumerMember, member_id: str, changes: list[GroupChange]
) -> ConsumerMember:
    """A static member came back under a new id: it inherits target and partitions, and begins at epoch 0."""
    target = group.target.get(before.member_id, NOTHING)
    group.remove(before.member_id)
    after = replace(before, member_id=member_id, epoch=0, previous_epoch=0, since=dict.fromkeys(before.assigned, 0))
    group.put(after)
    group.target[member_id] = target
    changes += [
        MemberGone(before.member_id),
        SavedConsumerMember(after),
        SavedTarget(member_id, target),
        SavedProgress(after),
    ]
    if bugs.on("B117"):
        changes.append(changes.pop(-4))
    return after


def _came_back(member: ConsumerMember) -> bool:
    """A static member that has just taken its place again."""
    return member.epoch == 0 == member.previous_epoch


def _in_epoch(member: ConsumerMember, request: Heartbeat) -> Refusal | None:
    """An epoch of the future, or of a past that is not simply an answer that got lost."""
    if request.epoch == member.epoch or bugs.on("M24e"):
        return None
    known = request.owned is not None and (request.owned <= member.assigned or bugs.on("B215"))
    lost = request.epoch == member.previous_epoch and known
    if request.epoch < member.epoch and lost and not bugs.on("M24c"):
        return None
    kind = "greater" if request.epoch > member.epoch else "smaller"
    return Refusal(
        errors.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {kind} member epoch ({request.epoch}) than the one known by the group "
        f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _not_the_holder(group: ConsumerGroup, member_id: str, instance_id: str) -> Refusal | None:
    holder = group.static.get(instance_id)
    if holder is None:
        return Refusal(errors.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if holder != member_id:
        return Refusal(
            errors.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {holder}.",
        )
    return None


def _unknown(group: ConsumerGroup, member_id: str) -> Refusal:
    message = f"Member {member_id} is not a member of group {group.group_id}."
    return Refusal(errors.UNKNOWN_MEMBER_ID, message)


def _updated(member: ConsumerMember, request: Heartbeat) -> ConsumerMember:
    """The member with whatever it said this time; what it left out stays."""
    return replace(
        member,
        instance_id=_said(request.instance_id, member.instance_id),
        rack_id=_said(member.rack_id, request.rack_id) if bugs.on("G13") else _said(request.rack_id, member.rack_id),
        rebalance_timeout_ms=member.rebalance_timeout_ms
        if request.rebalance_timeout_ms == -1 or (member.epoch and bugs.on("U26"))
        else request.rebalance_timeout_ms,
        assignor=request.assignor if bugs.on("G11") else _said(request.assignor, member.assignor),
        names=member.names if request.names is None else request.names,
        regex=_said(None if not request.regex and bugs.on("K09") else request.regex, member.regex),
        client_id=request.client_id,
        client_host=request.client_host,
    )


def _said(now: str | None, before: str | None) -> str | None:
    return before if now is None else now


def _fence(group: ConsumerGroup, member_id: str) -> list[GroupChange]:
    """A member goes; where none is left there is nothing to hand round, so the target is up to date at once."""
    group.remove(member_id)
    group.topics = resolved(group, group.topics)
    group.epoch += 1
    changes: list[GroupChange] = [MemberGone(member_id)]
    if not (group.members and bugs.on("B162")):
        changes.append(SavedGroup(group.epoch, group.metadata_hash))
    if not group.members and not bugs.on("V83"):
        group.assignment_epoch = group.epoch
        changes.append(SavedTargetEpoch(group.epoch))
    return changes


def _watch_revocation(group: ConsumerGroup, member: ConsumerMember, now: int) -> None:
    if member.progress is MemberState.UNREVOKED and not bugs.on("M24i"):
        allowed_ms = 0 if member.rebalance_timeout_ms == 0x7FFFFFFF and bugs.on("B322") else member.rebalance_timeout_ms
        if ("rebalance", member.member_id) not in group.deadlines or not bugs.on("B335"):
            group.deadlines["rebalance", member.member_id] = now + allowed_ms
    elif not bugs.on("D16"):
        group.deadlines.pop(("rebalance", member.member_id), None)


# -- the target ------------------------------------------------------------------------------------------------


def _refresh(group: ConsumerGroup, topics: Catalogue, changes: list[GroupChange], *, bump: bool) -> None:
    """Raises the group epoch when a subscription or the topics behind it have changed."""
    group.topics = resolved(group, topics)
    seen = topics_hash(group.topics, topics)
    if seen != group.metadata_hash and not (bugs.on("M24h") and group.metadata_hash):
        group.metadata_hash, bump = seen, True
    if bump or group.epoch == 0:
        group.epoch += 1
        changes.append(SavedGroup(group.epoch, group.metadata_hash))


def _retarget(group: ConsumerGroup, topics: Catalogue, changes: list[GroupChange]) -> None:
    """Computes what every member should own for the group epoch of now."""
    candidates = {
        member_id: Candidate(_order(member_id, member), _may_own(member, topics), group.target.get(member_id, NOTHING))
        for member_id, member in group.members.items()
    }
    for member_id, parts in ASSIGNORS[group.assignor()](candidates).items():
        if group.target.get(member_id) != parts:
            group.target[member_id] = parts
            changes.append(SavedTarget(member_id, parts))
    group.assignment_epoch = group.epoch
    changes.append(SavedTargetEpoch(group.epoch))


def _order(member_id: str, member: ConsumerMember) -> str:
    """Static members keep their place under another id."""
    return member_id if bugs.on("B63") else member.instance_id or member_id


def _reads_others(before: ConsumerMember, after: ConsumerMember) -> bool:
    """Whether it must be told of topics that it has given up, however far it is on its way to its target."""
    return (after.names != before.names and not bugs.on("K26")) or (after.regex != before.regex and not bugs.on("K27"))


def _may_own(member: ConsumerMember, topics: Catalogue) -> Parts:
    pattern = Pattern(member.regex) if member.regex else None
    names = [n for n in topics if n in member.names or (pattern is not None and pattern.matches(n))]
    return frozenset((topics[n][0], index) for n in names for index in range(topics[n][1]))


def topics_hash(names: Iterable[str], topics: Catalogue) -> int:
    """Of these topics as they are now."""
    return _hash((name, *topics[name][bugs.on("V13") :]) for name in names)


def _hash(facts: Iterable[tuple[object, ...]]) -> int:
    digest = hashlib.sha256(repr(sorted(map(str, facts))).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
