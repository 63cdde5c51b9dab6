"""Who leads and who is in sync when brokers come and go. Pure: the image and what happened in, records out.

The rules: a leader comes from the in-sync replicas that are alive, the first in the order of the replicas; the last
in-sync replica stays in the set though it is dead, for it alone is known to have everything; only a topic with
`unclean.leader.election.enable` may choose another, and loses what that one does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.control.image import NOBODY, Image, JsonRecord, Placement, TopicImage

Unclean = Callable[[TopicImage], bool]


def change(topic: TopicImage, index: int, **fields: object) -> JsonRecord:
    """The record that changes one partition."""
    return {"kind": "partition", "name": topic.name, "index": index, **fields}


def next_epoch(placement: Placement) -> int:
    """Every leader rules in an epoch of its own, so that nobody takes an older one's word for a newer one's."""
    return placement.leader_epoch + (0 if bugs.on("M32a") else 1)


def broker_gone(image: Image, broker: int, unclean: Unclean) -> Iterator[JsonRecord]:
    """What follows when a broker may no longer lead nor be in sync: it is fenced, stopping, or began anew."""
    held = [one for one in _partitions(image) if broker in one[2].isr or one[2].leader == broker]
    for topic, index, placement in held[: 100 if bugs.on("B361") else None]:
        isr = [one for one in placement.isr if one != broker] or placement.isr
        yield from _settled(image, topic, index, isr, unclean, without=broker)


def broker_back(image: Image, broker: int, unclean: Unclean) -> Iterator[JsonRecord]:
    """What follows when a broker may lead again: partitions without a leader that it can give one."""
    for topic, index, placement in _partitions(image):
        if (placement.adding or placement.removing) and bugs.on("B194"):
            continue
        early = broker in placement.replicas and broker not in placement.isr and bugs.on("M33d")
        if early or (placement.leader == NOBODY and broker in placement.replicas):
            yield from _settled(image, topic, index, placement.isr + [broker] * early, unclean)


def _settled(
    image: Image, topic: TopicImage, index: int, isr: list[int], unclean: Unclean, *, without: int = NOBODY
) -> Iterator[JsonRecord]:
    placement = topic.placements[index]
    alive = [one for one in placement.replicas if one != without and _eligible(image, one)]
    leader = placement.leader if placement.leader in alive and placement.leader in isr else NOBODY
    if leader == NOBODY:
        ranked = [one for one in isr if one in alive] if bugs.on("B151") else alive
        leader = next((one for one in ranked if one in isr or bugs.on("B08")), NOBODY)
    if alive and unclean(topic) and bugs.on("B15"):
        leader = alive[0]
        isr = isr if leader in isr else [leader]
    if leader == NOBODY and alive and (unclean(topic) or bugs.on("M33a")):
        leader, isr = alive[0], [alive[0]]
    fields: dict[str, object] = {}
    if leader != placement.leader:
        fields |= {"leader": leader, "leader_epoch": next_epoch(placement)}
    if isr != placement.isr:
        fields["isr"] = isr
        fields |= {"leader_epoch": next_epoch(placement)} if bugs.on("B164") else {}
    if fields:
        yield change(topic, index, **fields)


def preferred(image: Image, topic: TopicImage, index: int) -> JsonRecord | None:
    """The first replica leads again, if it is alive and in sync and does not lead already."""
    placement = topic.placements[index]
    return moved(image, topic, index, placement.replicas[0]) if placement.leader != placement.replicas[0] else None


def moved(image: Image, topic: TopicImage, index: int, to: int) -> JsonRecord | None:
    """Another in-sync replica leads; None if it must not."""
    placement = topic.placements[index]
    if not (to in placement.isr or bugs.on("B03")) or not _eligible(image, to):
        return None
    return change(topic, index, leader=to, leader_epoch=next_epoch(placement))


def unclean_now(image: Image, topic: TopicImage, index: int) -> JsonRecord | None:
    """Any replica that is alive leads a partition that has no leader; None if there is none."""
    placement = topic.placements[index]
    alive = [one for one in placement.replicas if _eligible(image, one)]
    if placement.leader != NOBODY or not alive:
        return None
    leader = next((one for one in alive if one in placement.isr), alive[0])
    isr = [one for one in placement.isr if one in alive] if leader in placement.isr else [leader]
    isr += placement.isr if bugs.on("X10") else []
    return change(topic, index, leader=leader, leader_epoch=next_epoch(placement), isr=isr)


def new_isr(image: Image, topic: TopicImage, index: int, isr: list[int]) -> JsonRecord:
    """The leader's word on who is in sync; it may complete a reassignment."""
    placement = topic.placements[index]
    if placement.adding or placement.removing:
        target = [one for one in placement.replicas if one not in placement.removing]
        if _is_over(target, placement.adding, placement.removing, isr):
            return _held_by(image, topic, index, target, [one for one in isr if one in target])
    return change(topic, index, isr=isr)


def reassigned(image: Image, topic: TopicImage, index: int, target: list[int]) -> JsonRecord:
    """The partition shall be held by these: first they are added, and when they are in sync, the others go.

    What another reassignment was adding counts as held: it stays until this one is complete.
    """
    placement = topic.placements[index]
    held = [one for one in placement.replicas if not (one in placement.adding and bugs.on("D66"))]
    removing = sorted(one for one in held if one not in target)
    adding = [one for one in target if one not in held] or ([] if bugs.on("B126") else placement.adding)
    if _is_over(target, adding, removing, placement.isr):
        return _held_by(image, topic, index, target, [one for one in placement.isr if one in target])
    replicas = [*target, *removing]
    isr = [one for one in placement.isr if one in replicas]
    isr += [one for one in adding if one not in isr and _eligible(image, one) and bugs.on("B20")]
    return change(topic, index, replicas=replicas, isr=isr, adding=adding, removing=removing)


def _is_over(target: list[int], adding: Sequence[int], removing: Sequence[int], isr: Collection[int]) -> bool:
    """Those that come are in sync, and of those that stay one at least; all are, where fewer are to hold it
    (KAFKA-19975)."""
    fewer = len(adding) < len(removing) and not bugs.on("K20")
    come = [one for one in adding if one in target]
    in_sync = [one for one in target if one in isr]
    return bool(in_sync) and all(one in in_sync for one in (target if fewer or bugs.on("K48") else come))


def cancelled(image: Image, topic: TopicImage, index: int, unclean: Unclean) -> JsonRecord | None:
    """A reassignment is called off: those who were to be added go.

    Where only those are in sync, the first of the others is taken for it, which is an unclean election; None where the
    topic does not allow one.
    """
    placement = topic.placements[index]
    before = [one for one in placement.replicas if one not in placement.adding or bugs.on("X08")]
    isr = [one for one in placement.isr if one in before]
    if not isr and not (unclean(topic) or bugs.on("D65")):
        return None
    left = placement.isr if isr and bugs.on("J01") else isr
    if any(_eligible(image, one) for one in isr) and bugs.on("B348"):
        return change(
            topic, index, replicas=before, isr=left, adding=[], removing=[], leader_epoch=next_epoch(placement)
        )
    return _held_by(image, topic, index, before, left or before[:1], unclean=unclean(topic))


def _held_by(
    image: Image, topic: TopicImage, index: int, target: list[int], isr: list[int], *, unclean: bool = False
) -> JsonRecord:
    """Replicas go, and no reassignment is under way any more. Each of them knows by a higher leader epoch."""
    placement = topic.placements[index]
    alive = [one for one in target if _eligible(image, one)]
    able = alive if bugs.on("B37") else [one for one in alive if one in isr]
    leader = placement.leader if placement.leader in isr else next(iter(able), NOBODY)
    if alive and unclean and (leader == NOBODY or bugs.on("J12")):
        leader, isr = alive[0], [alive[0]]
    fields: dict[str, object] = {"replicas": target, "isr": isr, "adding": [], "removing": []}
    if leader != placement.leader:
        fields |= {"leader": leader, "leader_epoch": next_epoch(placement) - bugs.on("X09")}
    elif not set(placement.replicas) <= set(target) and not bugs.on("D67"):
        fields["leader_epoch"] = next_epoch(placement)
    return change(topic, index, **fields)


def _partitions(image: Image) -> Iterator[tuple[TopicImage, int, Placement]]:
    for topic in list(image.topics.values()):
        for index, placement in enumerate(topic.placements):
            yield topic, index, placement


def _eligible(image: Image, broker: int) -> bool:
    known = image.brokers.get(broker)
    return known is not None and known.eligible
