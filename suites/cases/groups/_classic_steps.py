"""What a classic group may be asked next, and what must be answered: steps of cases that draw them."""

from brokertrial.suites.cases.groups._classic import COMPLETING, EMPTY, PREPARING, STABLE, TYPE, Seat
from brokertrial.wire import errors

MOST = 5


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


def seat_of(one, turn):
    one.made += 1
    instance = f"i{one.made}" if one.rng.random() < 0.5 else None
    return Seat(one.made, wishes(one, turn), instance)


# -- joining


def first_comes(one, turn):
    """An empty group waits for company as long as its broker likes: one member comes and is waited for."""
    seat = seat_of(one, turn)
    enters(one, seat)
    one.seats.append(seat)
    one.state = PREPARING
    one.complete()


def enters(one, seat):
    """JoinGroup of a new member, in two steps where the broker gives an id first."""
    version = one.drawn("JoinGroup", 5 if seat.instance else 4 if seat.id else 0)
    if version >= 4 and not seat.instance and not seat.id:
        gives_id(one, seat, version)
    seat.join = one.asks_to_join(seat, version)


def gives_id(one, seat, version):
    answer = one.asks_to_join(seat, version, wait=True).must_be_refused(errors.MEMBER_ID_REQUIRED)
    seat.id = answer.struct.member_id
    answer.must(bool(seat.id), "no id is given", "member_id")


def comes(one, turn):
    """A member that is new, or has its id and had not come yet."""
    if one.reserved and one.rng.random() < 0.7:
        seat = one.reserved[0]
        seat.wishes = wishes(one, turn)
    elif len(one.seats) < MOST:
        seat = seat_of(one, turn)
    else:
        return
    if not one.supports(seat.names):
        must_not_join(one, seat)
        return
    enters(one, seat)
    one.reserved = [each for each in one.reserved if each is not seat]
    one.seats.append(seat)
    one.moved()


def takes_an_id(one, turn):
    """A member gets an id and does not come yet: nobody goes on without it."""
    seat = Seat(one.made + 1, wishes(one, turn))
    if not one.reserved and len(one.seats) < MOST and one.supports(seat.names):
        one.made += 1
        gives_id(one, seat, one.drawn("JoinGroup", 4))
        one.reserved.append(seat)


def must_not_join(one, seat, kind=TYPE):
    version = one.drawn("JoinGroup", 5 if seat.instance else 0)
    answer = one.asks_to_join(seat, version, wait=True, kind=kind)
    answer.must_be_refused(errors.INCONSISTENT_GROUP_PROTOCOL).must_have("members", [])


def asks_like(seat, asked):
    """The same member with other wishes, which may be refused."""
    other = Seat(seat.number, asked, seat.instance)
    other.id = seat.id
    return other


def no_common_protocol(one, turn):
    new, known = Seat(0, []), one.rng.choice(one.seats)
    seat = one.rng.choice([new, known])
    if seat is new or seat.id:
        must_not_join(one, asks_like(seat, [("z", b"z")]))
        must_not_join(one, asks_like(seat, one.seats[0].wishes), kind="other")


def joins(one, turn):
    """A member joins again as it is."""
    if free := [seat for seat in one.seats if not seat.join]:
        again(one, one.rng.choice(free), changed=False)


def other_wishes(one, turn):
    if free := [seat for seat in one.seats if not seat.join]:
        seat, asked = one.rng.choice(free), wishes(one, turn)
        other = asks_like(seat, asked)
        if not one.supports(other.names):
            must_not_join(one, other)
            return
        seat.wishes = asked
        again(one, seat, changed=True)


def again(one, seat, *, changed):
    calls = one.state == PREPARING or changed or (one.state == STABLE and seat is one.leader)
    seat.join = one.asks_to_join(seat, one.drawn("JoinGroup"))
    if calls:
        one.moved()
    else:
        one.must_welcome(seat, seat.join)
        seat.join = None


def returns(one, turn):
    """A static member begins again: its old id is fenced, and what waits under that is told so."""
    static = [seat for seat in one.seats if seat.instance and seat.id]
    if not static:
        return
    seat = one.rng.choice(static)
    asked = wishes(one, turn) if one.rng.random() < 0.5 else [(name, b"again %d" % turn) for name in seat.names]
    other = asks_like(seat, asked)
    other.id = ""
    if not one.supports(other.names):
        must_not_join(one, other)
        return
    names, seat.wishes = seat.names, asked
    stays = one.stays() if one.state == STABLE else False
    if stays is None:
        stays, seat.wishes = True, [(name, b"again %d" % turn) for name in names]
    begins_again(one, seat, stays)


def begins_again(one, seat, stays):
    old, waits, version = seat.id, (seat.join, seat.sync), one.drawn("JoinGroup", 5)
    one.fenced.append((old, seat.instance))
    seat.id, seat.join, seat.sync, seat.lives = "", None, None, seat.lives + 1
    seat.join = one.asks_to_join(seat, version)
    for waiting in waits:
        if waiting is not None:
            waiting.must_be_refused(errors.FENCED_INSTANCE_ID)
    if not stays:
        one.complete_if_all() if one.state == PREPARING else one.prepare()
        return
    one.takes_id(seat, seat.join)
    leads, knows = seat is one.leader, version >= 9
    told_leader = old if leads and not knows else None
    one.must_welcome(seat, seat.join, leader=told_leader, skip=leads and knows, roster=knows)
    seat.join = None


# -- going on


def syncs(one, turn):
    """A member asks for what it is given; the leader brings it, for some of the members and for one that is none."""
    free = [seat for seat in one.seats if not seat.sync and seat.id]
    if not free:
        return
    leads = one.state == COMPLETING and one.leader in free and one.rng.random() < 0.4
    seat = one.leader if leads else one.rng.choice(free)
    brings = {}
    if seat is one.leader or one.rng.random() < 0.3:
        brings = {each.id: one.rng.randbytes(6) for each in one.seats if each.id and one.rng.random() < 0.7}
        brings |= {one.wire.name("nobody"): b"nothing"} if one.rng.random() < 0.3 else {}
    version = one.drawn("SyncGroup", 3 if seat.instance else 0)
    if one.state != COMPLETING:
        answer = one.asks_to_sync(seat, version, brings=brings)
        one.must_give(seat, answer, errors.REBALANCE_IN_PROGRESS if one.state == PREPARING else errors.NONE)
        return
    seat.sync = one.asks_to_sync(seat, version, brings=brings, wait=False)
    if seat is one.leader:
        for each in one.seats:
            each.given = brings.get(each.id, b"")
            one.answered_sync(each)
        one.state = STABLE


def beats(one, turn):
    if known := [seat for seat in one.seats if seat.id]:
        seat = one.rng.choice(known)
        answer = one.heartbeat(seat.id, seat.instance if one.rng.random() < 0.8 else None)
        if one.state == PREPARING:
            answer.must_be_refused(errors.REBALANCE_IN_PROGRESS)
        else:
            answer.must_succeed()


def goes(one, turn):
    """Some leave together, named by id or instance, one of those beside that have an id and did not come."""
    free = [seat for seat in one.seats if not seat.sync and (seat.id or seat.instance)]
    most = len(one.seats) - (1 if one.reserved or one.rng.random() < 0.8 else 0)
    if not free or most < 1:
        return
    leavers = one.rng.sample(free, one.rng.randint(1, min(len(free), most)))
    if one.state == PREPARING and all(seat.join for seat in one.seats if seat not in leavers):
        leavers = leavers[:1]  # up to 3.9 each that leaves may complete a generation, with those who leave after it
        if one.reserved:
            return
    leave(one, leavers)


def leave(one, leavers):
    version = one.drawn("LeaveGroup", 0 if len(leavers) == 1 and leavers[0].id else 3)
    if version < 3:
        one.ask("LeaveGroup", version, member_id=leavers[0].id).must_succeed()
    else:
        named = [named_to_go(one, seat) for seat in leavers] + [(seat.id, None) for seat in one.reserved]
        one.reserved = []
        one.rng.shuffle(named)
        rows = [{"member_id": id_, "group_instance_id": instance} for id_, instance in named]
        answer = one.ask("LeaveGroup", version, members=rows).must_succeed()
        found = [(row.member_id, row.group_instance_id, row.error_code) for row in answer.struct.members]
        answer.must(found == [(*each, 0) for each in named], f"{named} are answered {found}", "members")
    for seat in leavers:
        if seat.join is not None:
            seat.join.must_be_refused(errors.UNKNOWN_MEMBER_ID)
        one.gone += [seat.id] if seat.id else []
    one.seats = [seat for seat in one.seats if seat not in leavers]
    one.complete_if_all() if one.state == PREPARING else one.prepare()


def named_to_go(one, seat):
    by_instance = seat.instance and (not seat.id or one.rng.random() < 0.5)
    if by_instance:
        return ("", seat.instance)
    return (seat.id, seat.instance if one.rng.random() < 0.5 else None)


def commits(one, topic, offset, turn):
    """What is committed by a member, or by anybody where there is none; what is in force now."""
    known = [seat for seat in one.seats if seat.id]
    version = one.drawn("OffsetCommit", 7, 9)
    if one.state == EMPTY:
        one.wire.commit(one.name, topic, offset=turn, version=version).must_succeed()
        return turn
    if not known:
        return offset
    seat = one.rng.choice(known)
    whose = {"member_id": seat.id, "generation": one.generation, "instance_id": seat.instance}
    answer = one.wire.commit(one.name, topic, offset=turn, version=version, **whose)
    if one.state == COMPLETING:
        answer.must_be_refused(errors.REBALANCE_IN_PROGRESS)
        return offset
    answer.must_succeed()
    return turn


# -- refused


def refused(one, topic):
    """Who is not in it, was replaced, or is of another generation or protocol, asks."""
    if one.gone:
        all_refuse(one, topic, one.rng.choice(one.gone), None, errors.UNKNOWN_MEMBER_ID)
    if one.fenced:
        old, instance = one.rng.choice(one.fenced)
        all_refuse(one, topic, old, None, errors.UNKNOWN_MEMBER_ID)
        held = one.holds(instance)
        all_refuse(one, topic, old, instance, errors.FENCED_INSTANCE_ID if held else errors.UNKNOWN_MEMBER_ID)
    known = [seat for seat in one.seats if seat.id]
    if known:
        seat = one.rng.choice(known)
        other = one.rng.choice([one.generation + 1, one.generation - 1, -1])
        one.heartbeat(seat.id, seat.instance, other).must_be_refused(errors.ILLEGAL_GENERATION)
        sync_refused(one, seat, errors.ILLEGAL_GENERATION, 3, generation_id=other)
        field = one.rng.choice(["protocol_type", "protocol_name"])
        sync_refused(one, seat, errors.INCONSISTENT_GROUP_PROTOCOL, 5, **{field: "other"})
        one.wire.commit(one.name, topic, offset=999).must_be_refused(errors.UNKNOWN_MEMBER_ID)


def sync_refused(one, seat, error, least, **changes):
    version = one.drawn("SyncGroup", least)
    answer = one.asks_to_sync(seat, version, brings={seat.id: b"not to be taken"}, **changes)
    answer.must_be_refused(error)


def all_refuse(one, topic, id_, instance, error):
    """JoinGroup, SyncGroup, Heartbeat and OffsetCommit under an id."""
    seat = Seat(0, one.seats[0].wishes if one.seats else [("a", b"")], instance)
    seat.id = id_
    one.heartbeat(id_, instance).must_be_refused(error)
    sync_refused(one, seat, error, 3)
    version = one.drawn("JoinGroup", 5 if instance else 0)
    one.asks_to_join(seat, version, wait=True).must_be_refused(error)
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
