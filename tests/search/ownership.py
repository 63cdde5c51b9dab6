"""The fast path for who owns a partition in a group: epochs (generations) name the order, so that a maximum decides.

The coordinator gives the partition to at most one member in each epoch, and epochs only grow. It does so unseen; what
members are told are observations, and letting go is an operation. With the epochs that were seen numbered from 0, the
versions of the object are 2i (the owner of epoch i has it) and 2i+1 (it let go):

    hold {member, epoch i}    before 2i    after 2i
    give {member, epoch i}    before 2i    after 2i+1
    refused {epoch}           before inf   after the first epoch beyond it

Without leases (classic groups) a new generation ends the one before, whoever owned what. With them (KIP-848) a later
epoch may not give the partition to another member until its owner let go, or its session could have ended: where no
`give` was answered, one that perhaps happened must have, and then it is bound by its call.

What perhaps happened otherwise is left out, which is always an explanation. Then checkers/linearizability/precedence.py
decides, once each epoch has one owner who let go at most once.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from brokertrial.checkers.linearizability.precedence import NEVER, contradictions

HOLD, GIVE, REFUSED = 0, 1, 2
_UNBOUND = NEVER


class Claim(NamedTuple):
    """What an answer showed of one partition. `ret` NEVER: no answer came, and a `give` perhaps did not happen."""

    kind: int
    op: int
    member: str
    epoch: int
    call: int
    ret: int


class Clash(NamedTuple):
    """Two claims that no order of the operations explains."""

    name: str
    q: Claim
    p: Claim


def clashes(claims: Sequence[Claim], lease: bool = False) -> Iterator[Clash]:
    """Every claim that cannot be placed, with the one that proves it: two owners of one epoch first, then order."""
    claims = [claim for claim in claims if claim.ret != NEVER or (lease and claim.kind == GIVE)]
    owners = [claim for claim in claims if claim.kind == HOLD or (claim.kind == GIVE and claim.ret != NEVER)]
    first = _first_of_each_epoch(owners)
    disagreeing = [Clash("two-owners", first[claim.epoch], claim) for claim in owners if _other(claim, first)]
    disagreeing += _released_twice(owners)
    if disagreeing:
        yield from disagreeing
        return
    epochs = sorted(first)
    placed = [*owners, *(claim for claim in claims if claim.kind == REFUSED)]
    if lease:
        for one, two in pairwise(epochs):
            if first[one].member == first[two].member:
                continue
            release = _release(claims, first[one])
            if release is None:
                yield Clash("two-owners", first[one], first[two])
            elif release.ret == NEVER:
                placed.append(release)
    yield from _out_of_order(placed, epochs)


def _first_of_each_epoch(owners: Sequence[Claim]) -> dict[int, Claim]:
    first: dict[int, Claim] = {}
    for claim in owners:
        first.setdefault(claim.epoch, claim)
    return first


def _other(claim: Claim, first: dict[int, Claim]) -> bool:
    return claim.member != first[claim.epoch].member


def _released_twice(owners: Sequence[Claim]) -> list[Clash]:
    gives: dict[int, Claim] = {}
    return [
        Clash("released-twice", gives[claim.epoch], claim)
        for claim in owners
        if claim.kind == GIVE and gives.setdefault(claim.epoch, claim) is not claim
    ]


def _release(claims: Sequence[Claim], owner: Claim) -> Claim | None:
    """How the owner let go: certainly, or else perhaps and as early as can be."""
    own = [
        claim for claim in claims if claim.kind == GIVE and claim.epoch == owner.epoch and claim.member == owner.member
    ]
    return min(own, key=lambda claim: (claim.ret == NEVER, claim.call), default=None)


def _out_of_order(claims: Sequence[Claim], epochs: Sequence[int]) -> Iterator[Clash]:
    kind, epoch, call, ret = (
        np.array([getattr(claim, name) for claim in claims], dtype=np.int64)
        for name in ("kind", "epoch", "call", "ret")
    )
    begun = 2 * np.searchsorted(np.array(epochs, dtype=np.int64), epoch, side="left")
    over = 2 * np.searchsorted(np.array(epochs, dtype=np.int64), epoch, side="right")
    after = np.where(kind == HOLD, begun, np.where(kind == GIVE, begun + 1, over))
    before = np.where(kind == REFUSED, _UNBOUND, begun)
    for q, p in contradictions(ret, after, call, before):
        yield Clash(_name(claims[q], claims[p]), claims[q], claims[p])


def _name(q: Claim, p: Claim) -> str:
    if p.ret == NEVER or (p.kind == GIVE and q.kind == HOLD and q.member != p.member):
        return "two-owners"
    return "owner-after-release" if q.kind == GIVE and q.epoch == p.epoch else "generation-regression"
