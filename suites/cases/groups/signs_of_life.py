"""What keeps a member of a classic group in it, and what does not."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._living import LONG_MS, live_through
from brokertrial.wire import errors

APIS = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3, "DescribeGroups": 0, "OffsetCommit": 7}


@case(
    "groups/signs-of-life",
    guarantees=["grp-011", "grp-009"],
    apis=APIS,
    detects=["D01", "D02"],
)
def only_what_is_valid_keeps_a_member(wire, topic, rng):
    """A member MUST stay as long as it sends heartbeats or commits offsets, in whichever version, in time for its
    session; and MUST be expelled when that is over, and not before, if all its requests are refused: a heartbeat,
    commit or SyncGroup of another generation (22) or of another's instance (82), a commit without a member id (25), a
    JoinGroup with no protocol of the group's (23), a LeaveGroup of an unknown member (25).

    One group for each kind of request, all at a time. A member that stays as a zombie keeps its partitions from the
    others.
    """
    live_through(wire, [*_signs(wire, topic, rng), *_no_signs(wire, topic, rng)], rng)


@case(
    "groups/heartbeats-and-commits-alone-keep-a-member",
    guarantees=["grp-011"],
    level="should",
    apis={**APIS, "TxnOffsetCommit": 3, "AddOffsetsToTxn": 0, "OffsetFetch": 2},
    detects=["D03"],
)
def what_else_is_valid_keeps_no_member(wire, topic, rng, transactional_id):
    """A member that sends neither heartbeats nor commits SHOULD be expelled when its session is over, whatever else it
    sends: unchanged JoinGroups of a follower, commits in a transaction, OffsetFetch.

    Not judged is SyncGroup in a stable generation, which keeps a member up to 3.9 (GroupCoordinator.doSyncGroup).
    """
    producer = wire.producer(transactional_id, timeout_ms=LONG_MS)
    alone = {"lives": False}

    def stages(one):
        whose = {"member_id": one.asks.id, "generation": one.generation}
        return producer.send_offsets(one.group, {(topic, 0): 5}, **whose)

    def joins(one):
        return wire.join_group(one.group, member_id=one.asks.id, **_long(one))

    kinds = [
        ("heartbeats", lambda one: _beats(one, rng), errors.NONE, {"lives": True}),
        ("JoinGroups as it is", joins, errors.NONE, alone),
        ("commits in a transaction", stages, errors.NONE, alone),
        ("OffsetFetches", lambda one: wire.committed(one.group, topic), errors.NONE, alone),
    ]
    live_through(wire, kinds, rng)
    producer.abort().must_succeed()


def _signs(wire, topic, rng):
    """What it is, how it is sent, what is answered, and whether the member has an instance."""
    lives = {"lives": True}
    yield "heartbeats", lambda one: _beats(one, rng), errors.NONE, lives
    yield "heartbeats of an instance", lambda one: one.asks.heartbeat(), errors.NONE, {**lives, "static": True}
    offered = _commit_versions(wire)
    for version in sorted({offered[0], offered[-1], *rng.sample(offered, min(2, len(offered)))}):
        how = {**lives, "static": version >= 7 and rng.random() < 0.5}
        yield f"commits v{version}", lambda one, v=version: _commits(one, topic, v), errors.NONE, how


def _no_signs(wire, topic, rng):
    wrong = rng.choice([1, -1, -9])
    stale, fenced, unknown = errors.ILLEGAL_GENERATION, errors.FENCED_INSTANCE_ID, errors.UNKNOWN_MEMBER_ID
    drawn, alone, static = rng.choice(_commit_versions(wire)), {"lives": False}, {"lives": False, "static": True}
    yield "heartbeats of another generation", lambda one: _beats(one, rng, off=wrong), stale, alone
    yield "heartbeats of another's instance", lambda one: _beats(one, rng, instance=_others(one)), fenced, static
    yield "commits of another generation", lambda one: _commits(one, topic, drawn, off=wrong), stale, alone
    yield "commits of another's instance", lambda one: _commits(one, topic, 7, instance=_others(one)), fenced, static
    yield "commits as no member", lambda one: wire.commit(one.group, topic, offset=9), unknown, alone
    yield "SyncGroups of another generation", lambda one: one.asks.sync(generation=one.generation + 1), stale, alone
    yield "JoinGroups of no protocol of the group's", _joins_otherwise, errors.INCONSISTENT_GROUP_PROTOCOL, alone
    yield "LeaveGroups of a stranger", lambda one: wire.leave_group(one.group, "nobody"), unknown, alone


def _commit_versions(wire):
    return [each for each in wire.versions("OffsetCommit") if each >= 2]


def _others(one):
    return one.leads.settings["instance_id"]


def _beats(one, rng, *, off=0, instance=None):
    version = rng.choice([each for each in one.wire.versions("Heartbeat") if instance is None or each >= 3])
    return one.wire.heartbeat(one.group, one.generation + off, one.asks.id, instance_id=instance, version=version)


def _commits(one, topic, version, *, off=0, instance=None):
    whose = {"member_id": one.asks.id, "generation": one.generation + off}
    known = instance or (one.asks.settings.get("instance_id") if version >= 7 else None)
    return one.wire.commit(one.group, topic, offset=5, version=version, instance_id=known, **whose)


def _joins_otherwise(one):
    return one.wire.join_group(one.group, member_id=one.asks.id, protocols=[("z", b"")], **_long(one))


def _long(one):
    return {"session_timeout_ms": one.session_ms, "rebalance_timeout_ms": LONG_MS}
