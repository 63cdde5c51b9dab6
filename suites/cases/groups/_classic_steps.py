"""What a classic group may be asked next, and what must be answered: steps of cases that draw them."""

from brokertrial.suites.cases.groups._classic import COMPLETING, EMPTY, PREPARING, STABLE, TYPE, MemberModel
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors

MOST, TRIES = 5, 60
REFUSED = {
    errors.UNKNOWN_MEMBER_ID: "grp-009",
    errors.ILLEGAL_GENERATION: "grp-009",
    errors.FENCED_INSTANCE_ID: "grp-015",
    errors.INCONSISTENT_GROUP_PROTOCOL: "grp-008",
}
"""What is broken where somebody is not refused with this."""


def steps_of(one):
    """What may come next, what leads on more often."""
    if one.state == EMPTY:
        return [first_comes]
    waits = {PREPARING: [joins] * 9, COMPLETING: [*[syncs] * 9, joins, joins, joins, joins], STABLE: [syncs]}[one.state]
    return [*waits, comes, comes, joins, other_wishes, returns, goes, beats, beats, takes_an_id, no_common_protocol]


def wishes(one, turn):
    """Some of four protocols in some order, as who asks brings them."""
    names = [name for name in "abcd" if one.rng.random() < 0.8] or ["b"]
    one.rng.shuffle(names)
    return [(name, b"%s of %d" % (name.encode(), turn)) for name in names]


def member_of(one, turn):
    one.made += 1
    instance = f"i{one.made}" if one.rng.random() < 0.5 else None
    return MemberModel(one.made, wishes(one, turn), instance)


# -- joining


def first_comes(one, turn):
    """An empty group waits for company as long as its broker likes: one member comes and is waited for."""
    member = member_of(one, turn)
    enters(one, member)
    one.members.append(member)
    one.state = PREPARING
    one.complete()


def enters(one, member):
    """JoinGroup of a new member, in two steps where the broker gives an id first."""
    version = one.drawn("JoinGroup", 5 if member.instance else 4 if member.id else 0)
    if version >= 4 and not member.instance and not member.id:
        gives_id(one, member, version)
    member.join = one.asks_to_join(member, version)


@breaks("grp-005")
def gives_id(one, member, version):
    answer = one.asks_to_join(member, version, wait=True).must_be_refused(errors.MEMBER_ID_REQUIRED)
    member.id = answer.struct.member_id
    answer.must(bool(member.id), "no id is given", "member_id")


def comes(one, turn):
    """A member that is new, or has its id and had not come yet."""
    if one.reserved and one.rng.random() < 0.7:
        member = one.reserved[0]
        member.wishes = wishes(one, turn)
    elif len(one.members) < MOST:
        member = member_of(one, turn)
    else:
        return
    if not one.supports(member.names):
        must_not_join(one, member)
        return
    enters(one, member)
    one.reserved = [each for each in one.reserved if each is not member]
    one.members.append(member)
    one.moved()


def takes_an_id(one, turn):
    """A member gets an id and does not join yet: no rebalance completes without it."""
    member = MemberModel(one.made + 1, wishes(one, turn))
    if not one.reserved and len(one.members) < MOST and one.supports(member.names):
        one.made += 1
        gives_id(one, member, one.drawn("JoinGroup", 4))
        one.reserved.append(member)


@breaks("grp-008")
def must_not_join(one, member, kind=TYPE):
    version = one.drawn("JoinGroup", 5 if member.instance else 0)
    answer = one.asks_to_join(member, version, wait=True, kind=kind)
    answer.must_be_refused(errors.INCONSISTENT_GROUP_PROTOCOL).must_have("members", [])


def asks_like(member, asked):
    """The same member with other wishes, which may be refused."""
    other = MemberModel(member.number, asked, member.instance)
    other.id = member.id
    return other


def no_common_protocol(one, turn):
    new, known = MemberModel(0, []), one.rng.choice(one.members)
    member = one.rng.choice([new, known])
    if member is new or member.id:
        must_not_join(one, asks_like(member, [("z", b"z")]))
        must_not_join(one, asks_like(member, one.members[0].wishes), kind="other")


def joins(one, turn):
    """A member joins again as it is."""
    if free := [member for member in one.members if not member.join]:
        again(one, one.rng.choice(free), changed=False)


def other_wishes(one, turn):
    """A member joins again with others, or with the same in another order, which moves its vote."""
    if free := [member for member in one.members if not member.join]:
        member, asked = one.rng.choice(free), wishes(one, turn)
        if one.rng.random() < 0.3:
            asked = member.wishes[::-1]
        other = asks_like(member, asked)
        if not one.supports(other.names):
            must_not_join(one, other)
            return
        changed, member.wishes = asked != member.wishes, asked
        again(one, member, changed=changed)


@breaks("grp-006")
def again(one, member, *, changed):
    calls = one.state == PREPARING or changed or (one.state == STABLE and member is one.leader)
    member.join = one.asks_to_join(member, one.drawn("JoinGroup"))
    if calls:
        one.moved()
    else:
        one.must_welcome(member, member.join)
        member.join = None


def returns(one, turn):
    """A static member restarts, most often one that waits: its old id is fenced, and its waiting requests are answered
    so.
    """
    static = [member for member in one.members if member.instance and member.id]
    if not static:
        return
    waiting = [member for member in static if member.sync or member.join]
    member = one.rng.choice(waiting if waiting and one.rng.random() < 0.9 else static)
    asked = wishes(one, turn) if one.rng.random() < 0.5 else [(name, b"again %d" % turn) for name in member.names]
    other = asks_like(member, asked)
    other.id = ""
    if not one.supports(other.names):
        must_not_join(one, other)
        return
    names, member.wishes = member.names, asked
    stays = one.stays() if one.state == STABLE else False
    if stays is None:
        stays, member.wishes = True, [(name, b"again %d" % turn) for name in names]
    begins_again(one, member, stays)


def waits_and_returns(one, turn):
    """On and on until a static follower waits for what it is given: that one begins again."""
    for _ in range(TRIES):
        followers = [each for each in one.members if each.instance and each.id and each is not one.leader]
        if one.state == COMPLETING and followers:
            member = one.rng.choice(followers)
            member.sync = member.sync or one.asks_to_sync(member, one.drawn("SyncGroup", 3), wait=False)
            one.must_be_described()
            begins_again(one, member, False)
            return
        one.rng.choice(steps_of(one))(one, turn)
        one.must_be_described()


@breaks("grp-015")
def begins_again(one, member, stays):
    old, waits, version = member.id, (member.join, member.sync), one.drawn("JoinGroup", 5)
    one.fenced.append((old, member.instance))
    member.id, member.join, member.sync, member.lives = "", None, None, member.lives + 1
    member.join = one.asks_to_join(member, version)
    for waiting in waits:
        if waiting is not None:
            waiting.must_be_refused(errors.FENCED_INSTANCE_ID)
    if not stays:
        one.complete_if_all() if one.state == PREPARING else one.prepare()
        return
    one.takes_id(member, member.join)
    leads, knows = member is one.leader, version >= 9
    named_leader = old if leads and not knows else None
    one.must_welcome(member, member.join, leader=named_leader, skip=leads and knows, roster=knows)
    member.join = None


# -- going on


@breaks("grp-007")
def syncs(one, turn):
    """A member asks for what it is given; the leader brings it, for some of the members and for one that is none."""
    free = [member for member in one.members if not member.sync and member.id]
    if not free:
        return
    leads = one.state == COMPLETING and one.leader in free and one.rng.random() < 0.4
    member = one.leader if leads else one.rng.choice(free)
    brings = {}
    if member is one.leader or one.rng.random() < 0.3:
        brings = {each.id: one.rng.randbytes(6) for each in one.members if each.id and one.rng.random() < 0.7}
        brings |= {one.wire.name("nobody"): b"nothing"} if one.rng.random() < 0.3 else {}
    version = one.drawn("SyncGroup", 3 if member.instance else 0)
    if one.state != COMPLETING:
        answer = one.asks_to_sync(member, version, brings=brings)
        with breaks("grp-027" if one.state == PREPARING else "grp-007"):
            one.must_give(member, answer, errors.REBALANCE_IN_PROGRESS if one.state == PREPARING else errors.NONE)
        return
    member.sync = one.asks_to_sync(member, version, brings=brings, wait=False)
    if member is one.leader:
        for each in one.members:
            each.given = brings.get(each.id, b"")
            one.answered_sync(each)
        one.state = STABLE


@breaks("grp-010")
def beats(one, turn):
    if known := [member for member in one.members if member.id]:
        member = one.rng.choice(known)
        answer = one.heartbeat(member.id, member.instance if one.rng.random() < 0.8 else None)
        if one.state == PREPARING:
            answer.must_be_refused(errors.REBALANCE_IN_PROGRESS)
        else:
            with breaks("grp-009", "grp-027"):
                answer.must_succeed()


def goes(one, turn):
    """Some leave together, named by id or instance, one of those beside that have an id and did not come."""
    free = [member for member in one.members if not member.sync and (member.id or member.instance)]
    most = len(one.members) - (1 if one.reserved or one.rng.random() < 0.8 else 0)
    if not free or most < 1:
        return
    leavers = one.rng.sample(free, one.rng.randint(1, min(len(free), most)))
    if one.state == PREPARING and all(member.join for member in one.members if member not in leavers):
        leavers = leavers[:1]  # up to 3.9 each that leaves may complete a generation, with those who leave after it
        if one.reserved:
            return
    leave(one, leavers)


@breaks("grp-014")
def leave(one, leavers):
    version = one.drawn("LeaveGroup", 0 if len(leavers) == 1 and leavers[0].id else 3)
    if version < 3:
        one.ask("LeaveGroup", version, member_id=leavers[0].id).must_succeed()
    else:
        named = [named_to_go(one, member) for member in leavers] + [(member.id, None) for member in one.reserved]
        one.reserved = []
        one.rng.shuffle(named)
        rows = [{"member_id": id_, "group_instance_id": instance} for id_, instance in named]
        answer = one.ask("LeaveGroup", version, members=rows).must_succeed()
        found = [(row.member_id, row.group_instance_id, row.error_code) for row in answer.struct.members]
        answer.must(found == [(*each, 0) for each in named], f"{named} are answered {found}", "members")
    for member in leavers:
        if member.join is not None:
            member.join.must_be_refused(errors.UNKNOWN_MEMBER_ID)
        one.gone += [member.id] if member.id else []
    one.members = [member for member in one.members if member not in leavers]
    one.complete_if_all() if one.state == PREPARING else one.prepare()


def named_to_go(one, member):
    by_instance = member.instance and (not member.id or one.rng.random() < 0.5)
    if by_instance:
        return ("", member.instance)
    return (member.id, member.instance if one.rng.random() < 0.5 else None)


@breaks("cmt-011", "cmt-012")
def commits(one, topic, offset, turn):
    """What is committed by a member, or by anybody where there is none; what is in force now."""
    known = [member for member in one.members if member.id]
    version = one.drawn("OffsetCommit", 7, 9)
    if one.state == EMPTY:
        one.wire.commit(one.name, topic, offset=turn, version=version).must_succeed()
        return turn
    if not known:
        return offset
    member = one.rng.choice(known)
    whose = {"member_id": member.id, "generation": one.generation, "instance_id": member.instance}
    answer = one.wire.commit(one.name, topic, offset=turn, version=version, **whose)
    if one.state == COMPLETING:
        answer.must_be_refused(errors.REBALANCE_IN_PROGRESS)
        return offset
    answer.must_succeed()
    return turn


# -- refused


@breaks("grp-009")
def refused(one, topic):
    """Who is not in it, was replaced, or is of another generation or protocol, asks."""
    if one.gone:
        all_refuse(one, topic, one.rng.choice(one.gone), None, errors.UNKNOWN_MEMBER_ID)
    if one.fenced:
        old, instance = one.rng.choice(one.fenced)
        all_refuse(one, topic, old, None, errors.UNKNOWN_MEMBER_ID)
        held = one.holds(instance)
        all_refuse(one, topic, old, instance, errors.FENCED_INSTANCE_ID if held else errors.UNKNOWN_MEMBER_ID)
    known = [member for member in one.members if member.id]
    if known:
        member = one.rng.choice(known)
        other = one.rng.choice([one.generation + 1, one.generation - 1, -1])
        one.heartbeat(member.id, member.instance, other).must_be_refused(errors.ILLEGAL_GENERATION)
        sync_refused(one, member, errors.ILLEGAL_GENERATION, 3, generation_id=other)
        field = one.rng.choice(["protocol_type", "protocol_name"])
        sync_refused(one, member, errors.INCONSISTENT_GROUP_PROTOCOL, 5, **{field: "other"})
        with breaks("cmt-012"):
            one.wire.commit(one.name, topic, offset=999).must_be_refused(errors.UNKNOWN_MEMBER_ID)


def sync_refused(one, member, error, least, **changes):
    version = one.drawn("SyncGroup", least)
    with breaks(REFUSED[error]):
        answer = one.asks_to_sync(member, version, brings={member.id: b"not to be taken"}, **changes)
        answer.must_be_refused(error)


def all_refuse(one, topic, id_, instance, error):
    """JoinGroup, SyncGroup, Heartbeat and OffsetCommit under an id."""
    member = MemberModel(0, one.members[0].wishes if one.members else [("a", b"")], instance)
    member.id = id_
    with breaks(REFUSED[error]):
        one.heartbeat(id_, instance).must_be_refused(error)
        sync_refused(one, member, error, 3)
        version = one.drawn("JoinGroup", 5 if instance else 0)
        one.asks_to_join(member, version, wait=True).must_be_refused(error)
        whose = {"member_id": id_, "generation": one.generation, "instance_id": instance}
        one.wire.commit(one.name, topic, offset=999, **whose).must_be_refused(error)


def settles(one, turn):
    """What waits is brought to its end."""
    while one.state in (PREPARING, COMPLETING):
        if one.state == COMPLETING:
            syncs(one, turn)
        else:
            comes(one, turn) if one.reserved else joins(one, turn)
        one.must_be_described()
