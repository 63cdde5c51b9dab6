"""A classic group whose members come, change, return and go as is drawn: each generation is followed."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

APIS = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3, "DescribeGroups": 4, "OffsetCommit": 2}
STEPS = (
    *("comes", "comes", "comes", "goes", "goes", "goes", "other wishes", "other wishes"),
    *("leader again", "follower again", "static returns", "outsiders", "unknown ones go"),
)
MOST, ROW = 4, "groups[0]"


class Group:
    """A group as it must be: `given` is each member's assignment."""

    def __init__(self, name):
        self.name, self.members, self.gone, self.given, self.generation, self.made = name, [], [], {}, None, 0
        self.before = None


@case(
    "groups/whatever-comes-next",
    guarantees=["grp-006", "grp-007", "grp-008", "grp-009", "grp-010", "grp-014", "grp-015", "grp-020"],
    apis=APIS,
    detects=["M24a", "M27", "N04", "V01", "V02"],
)
def each_generation_is_as_its_members_make_it(wire, topic, group, rng):
    """Whichever members join, leave, change their protocols or return as static members, each generation MUST be one
    above the one before, MUST have a protocol that all support and most prefer, MUST give the members' metadata to its
    leader alone, and MUST hand each member its own assignment; the group is described so, and former members are
    refused. Each member that one LeaveGroup names MUST have a result of its own, and the others are called to a new
    generation if one of them has left.

    Up to four members, static ones among them, 60 drawn steps. A follower that joins again unchanged, a static member
    that returns and unknown members that leave begin no generation.
    """
    one = Group(group)
    _comes(wire, one, rng)
    for turn in range(60):
        step = rng.choice(STEPS)
        static = [member for member in one.members if member.settings.get("instance_id")]
        followers = [member for member in one.members if not member.leads]
        if step == "comes" and len(one.members) < MOST:
            _comes(wire, one, rng)
        elif step == "goes" and len(one.members) > 1:
            leavers = rng.sample(one.members, rng.randrange(1, len(one.members)))
            _leave(wire, one, leavers, rng)
            one.members = [member for member in one.members if member not in leavers]
            one.gone += leavers
            with breaks("grp-009", "grp-014"):
                for leaver in leavers:
                    leaver.heartbeat(generation=one.generation).must_be_refused(errors.UNKNOWN_MEMBER_ID)
            _rebalanced(wire, one, (), rng)
        elif step == "unknown ones go":
            _leave(wire, one, (), rng)
            with breaks("grp-010"):
                for member in one.members:
                    member.heartbeat().must_succeed()
                    member.sync().must_bring(one.given[member.id])
        elif step == "other wishes":
            member = rng.choice(one.members)
            member.settings["protocols"] = _wishes(rng, turn)
            _rebalanced(wire, one, [member], rng)
        elif step == "leader again":
            _rebalanced(wire, one, [member for member in one.members if member.leads][:1] or one.members[:1], rng)
        elif step == "follower again" and followers:
            _stays(wire, one, rng.choice(followers))
        elif step == "static returns" and static:
            _returns(wire, one, rng.choice(static))
        elif step == "outsiders":
            _refused(one)
        with breaks("grp-009"):
            rng.choice(one.members).commit(topic, offset=turn).must_succeed()
            wire.committed(group, topic).must_be(turn)
        _must_be_described(wire, one)


def _wishes(rng, turn):
    """Some of three protocols in some order, of which all know b."""
    names = ["b", *(name for name in ("a", "c") if rng.random() < 0.8)]
    rng.shuffle(names)
    return [(name, f"{name}{turn}".encode()) for name in names]


def _comes(wire, one, rng):
    one.made += 1
    name = f"m{one.made}"
    static = {"instance_id": f"i{one.made}"} if rng.random() < 0.6 else {}
    member = wire.member(one.name, name, protocol_type="opaque", protocols=_wishes(rng, one.made), **static)
    one.members.append(member)
    _rebalanced(wire, one, [member], rng)


@breaks("grp-014")
def _leave(wire, one, leavers, rng):
    """One LeaveGroup of these and of unknown members, in any order: each has its own answer."""
    named = []
    for member in leavers:
        instance = member.settings.get("instance_id")
        id_ = "" if instance and rng.random() < 0.7 else member.id
        named.append((id_, instance, errors.NONE))
    unknown = [
        (wire.name("nobody"), None, errors.UNKNOWN_MEMBER_ID),
        ("", wire.name("nowhere"), errors.UNKNOWN_MEMBER_ID),
        *((member.id, None, errors.UNKNOWN_MEMBER_ID) for member in one.gone[-1:]),
        *(
            (wire.name("nobody"), member.settings["instance_id"], errors.FENCED_INSTANCE_ID)
            for member in one.members
            if member.settings.get("instance_id") and member not in leavers
        ),
    ]
    named += rng.sample(unknown, rng.randrange(0 if leavers else 1, len(unknown) + 1))
    rng.shuffle(named)
    rows = [{"member_id": id_, "group_instance_id": instance} for id_, instance, _ in named]
    answer = wire.ask(request("LeaveGroup", group_id=one.name, members=rows), to=lambda: wire.coordinator(one.name))
    answer.must_have("error_code", errors.NONE)
    found = [(row.member_id, row.group_instance_id, row.error_code) for row in answer.struct.members]
    answer.must(found == named, f"the members are answered {found}; they must be {named}", "members")


@breaks("grp-006")
def _rebalanced(wire, one, callers, rng):
    """Those who call for it join, the others learn of it by heartbeat, and all are in the next generation."""
    for member in callers:
        member.begin_join()
    for member in one.members:
        if member not in callers:
            with breaks("grp-010"):
                member.await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)
            member.begin_join()
    joined = [member.finish_join().must_succeed() for member in one.members]
    expected = joined[0].generation if one.generation is None else one.generation + 1
    leads = [member for member in one.members if member.leads]
    wire.must(len(leads) == 1, f"{len(leads)} members are named as leader; it must be one", *joined)
    for answer in joined:
        answer.must_have("generation_id", expected).must_have("leader", leads[0].id)
        with breaks("grp-008"):
            answer.must(answer.protocol in _elected(one), f"the protocol is {answer.protocol}", "protocol_name")
    for member, answer in zip(one.members, joined, strict=True):
        known = {each.id: dict(each.settings["protocols"])[answer.protocol] for each in one.members}
        wanted = known if member is leads[0] else {}
        with breaks("grp-007"):
            answer.must(answer.members == wanted, f"it lists {answer.members}; it must list {wanted}", "members")
    one.before, one.generation = one.generation, expected
    one.given = {member.id: rng.randbytes(8) for member in one.members}
    synced = [member.sync(one.given if member is leads[0] else None, wait=False) for member in one.members]
    for member, answer in zip(one.members, synced, strict=True):
        with breaks("grp-007"):
            answer.must_bring(one.given[member.id])


def _elected(one):
    """The protocols that may win: each votes for its first that all support."""
    lists = [[name for name, _ in member.settings["protocols"]] for member in one.members]
    shared = set.intersection(*map(set, lists))
    votes = [next(name for name in names if name in shared) for names in lists]
    return {name for name in votes if votes.count(name) == max(map(votes.count, votes))}


@breaks("grp-006")
def _stays(wire, one, member):
    """A follower that joins again as it is gets what it has."""
    member.join().must_have("generation_id", one.generation)
    member.sync().must_bring(one.given[member.id])
    for each in one.members:
        each.heartbeat().must_succeed()


@breaks("grp-015")
def _returns(wire, one, member):
    """A static member begins again under a new id, with what it has; its old id is fenced."""
    old, member.id = member.id, ""
    answer = member.join().must_have("generation_id", one.generation)
    answer.must(member.id not in ("", old), "the member has its old id", "member_id")
    one.given[member.id] = one.given.pop(old)
    member.sync().must_bring(one.given[member.id])
    instance = member.settings["instance_id"]
    for generation in (one.generation, one.generation - 1):
        fenced = wire.heartbeat(one.name, generation, old, instance_id=instance)
        fenced.must_be_refused(errors.FENCED_INSTANCE_ID)
    for each in one.members:
        each.heartbeat().must_succeed()


@breaks("grp-009")
def _refused(one):
    for member in one.gone:
        strange = (errors.UNKNOWN_MEMBER_ID,)
        member.heartbeat(generation=one.generation).must_be_refused(*strange)
        member.sync(generation=one.generation).must_be_refused(*strange)
    if one.before is not None:
        for member in one.members:
            for generation in (one.before, one.generation + 1):
                member.heartbeat(generation=generation).must_be_refused(errors.ILLEGAL_GENERATION)
                member.sync(generation=generation).must_be_refused(errors.ILLEGAL_GENERATION)


@breaks("grp-020")
def _must_be_described(wire, one):
    answer = wire.describe_group(one.name).must_succeed()
    row = answer.struct.groups[0]
    for field, value in (("group_state", "Stable"), ("protocol_type", "opaque")):
        answer.must_have(f"{ROW}.{field}", value)
    named, due = row.protocol_data, " or ".join(sorted(_elected(one)))
    answer.must(named in _elected(one), f"the protocol is {named!r}; it must be {due}", f"{ROW}.protocol_data")
    found = {
        each.member_id: (each.group_instance_id, bytes(each.member_metadata), bytes(each.member_assignment))
        for each in row.members
    }
    wanted = {
        each.id: (
            each.settings.get("instance_id"),
            dict(each.settings["protocols"])[row.protocol_data],
            one.given[each.id],
        )
        for each in one.members
    }
    answer.must(found == wanted, f"the members are {found}; they must be {wanted}", f"{ROW}.members")
