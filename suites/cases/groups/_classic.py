"""A classic group as it must be, request by request, as Kafka's ClassicGroup and GroupMetadataManager have it.

    Empty -> PreparingRebalance -> CompletingRebalance -> Stable
      ^            ^------ a join, a leave, other wishes ------'

A JoinGroup waits until all have joined, a SyncGroup until the leader has sent the assignments. Which of the joined
members leads, and which of the protocols with equally many votes wins, is known from the answers only.
"""

from typing import Any

from brokertrial.suites.cases.groups._asked import AskedGroup
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire import errors
from brokertrial.wire.messages import request

APIS = {
    "JoinGroup": 5,
    "SyncGroup": 3,
    "Heartbeat": 3,
    "LeaveGroup": 3,
    "DescribeGroups": 4,
    "ListGroups": 0,
    "OffsetCommit": 7,
    "OffsetFetch": 2,
}
"""What such a group is asked with."""
TYPE, LONG_MS = "opaque", 300_000
EMPTY, PREPARING, COMPLETING, STABLE = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"
STATES = (EMPTY, PREPARING, COMPLETING, STABLE)


class MemberModel:
    """A member: what it wishes, what it was given last, and its requests that are under way."""

    def __init__(self, number, wishes, instance=None):
        self.number, self.wishes, self.instance, self.id = number, wishes, instance, ""
        self.given, self.join, self.sync, self.lives = b"", None, None, 0

    @property
    def names(self):
        return [name for name, _ in self.wishes]

    def line(self, what):
        """What waits on a connection holds up what comes after it."""
        return f"{what}{self.number}.{self.lives}"


class Group(AskedGroup):
    """The group: its members, and who must be refused."""

    def __init__(self, wire, name, rng):
        super().__init__(wire, name, rng)
        self.state, self.generation, self.protocol = EMPTY, 0, None
        self.leader: Any = None
        self.members, self.reserved, self.gone, self.fenced, self.made = [], [], [], [], 0
        self.votes_then = None
        self.broken = ("grp-020",)
        """By a description that does not fit."""

    # -- what it is asked ------------------------------------------------------------------------------------

    def ask(self, api, version, via="main", wait=True, **fields):
        return self.ask_coordinator(request(api, group_id=self.name, **fields), version, via=via, wait=wait)

    def asks_to_join(self, member, version, *, wait=False, kind=TYPE):
        return self.ask(
            "JoinGroup",
            version,
            via="main" if wait else member.line("j"),
            wait=wait,
            member_id=member.id,
            group_instance_id=member.instance,
            protocol_type=kind,
            protocols=[{"name": name, "metadata": data} for name, data in member.wishes],
            session_timeout_ms=LONG_MS,
            rebalance_timeout_ms=LONG_MS,
        )

    def asks_to_sync(self, member, version, *, brings=None, wait=True, **changes):
        fields = {
            "member_id": member.id,
            "group_instance_id": member.instance,
            "generation_id": self.generation,
            "protocol_type": TYPE,
            "protocol_name": self.protocol or "none",
            "assignments": [{"member_id": id_, "assignment": data} for id_, data in (brings or {}).items()],
        }
        via = "main" if wait else member.line("s")
        return self.ask("SyncGroup", version, via=via, wait=wait, **{**fields, **changes})

    def heartbeat(self, id_, instance=None, generation=None):
        return self.ask(
            "Heartbeat",
            self.drawn("Heartbeat", 3 if instance else 0),
            member_id=id_,
            group_instance_id=instance,
            generation_id=self.generation if generation is None else generation,
        )

    # -- what is so ------------------------------------------------------------------------------------------

    def supports(self, names):
        """Whether one of these is known to all members, the one that asks as it was before among them."""
        return self.state == EMPTY or bool(set(names) & self.candidates())

    def candidates(self):
        return set.intersection(*(set(member.names) for member in self.members)) if self.members else set()

    def votes(self):
        """Each votes for the first of its protocols that all support."""
        shared = self.candidates()
        return sorted(next(name for name in member.names if name in shared) for member in self.members)

    def elected(self):
        votes = self.votes()
        return {name for name in votes if votes.count(name) == max(map(votes.count, votes))}

    def stays(self):
        """Whether those who vote now would choose what is chosen; None where a tie of new votes leaves that open."""
        elected = self.elected()
        if self.protocol not in elected:
            return False
        return True if len(elected) == 1 or self.votes() == self.votes_then else None

    def holds(self, instance):
        return any(member.instance == instance for member in self.members)

    # -- what moves it ---------------------------------------------------------------------------------------

    def prepare(self):
        """Members are called to join; who waits in SyncGroup is answered with REBALANCE_IN_PROGRESS."""
        if self.state == COMPLETING:
            for member in self.members:
                member.given = b""
                self.answered_sync(member, errors.REBALANCE_IN_PROGRESS)
        self.state = PREPARING
        self.complete_if_all()

    def moved(self):
        """Someone came, or changed."""
        if self.state == PREPARING:
            self.complete_if_all()
        else:
            self.prepare()

    def complete_if_all(self):
        if self.state == PREPARING and not self.reserved and all(member.join for member in self.members):
            self.complete()

    @breaks("grp-006")
    def complete(self):
        """The next generation: one protocol, and one leader, the only member that receives the member list."""
        if not self.members:
            self.generation, self.state, self.protocol, self.leader = self.generation + 1, EMPTY, None, None
            return
        joined = [member.join for member in self.members]
        first = joined[0].must_succeed().struct
        self.generation = self.generation + 1 if self.generation else first.generation_id
        self.protocol = first.protocol_name
        for member, answer in zip(self.members, joined, strict=True):
            self.takes_id(member, answer)
        leads = [member for member in self.members if member.id == first.leader]
        joined[0].must(len(leads) == 1, f"the leader is {first.leader}, which is no member", "leader")
        stays = self.leader is leads[0] or self.leader not in self.members
        joined[0].must(stays, f"the leader is {first.leader}, and the one before has joined again", "leader")
        fits = self.protocol in self.elected()
        with breaks("grp-008"):
            joined[0].must(fits, f"the protocol is {self.protocol}; most vote for {self.elected()}", "protocol_name")
        self.leader, self.state, self.votes_then = leads[0], COMPLETING, self.votes()
        for member, answer in zip(self.members, joined, strict=True):
            self.must_welcome(member, answer)
            member.join = None

    @breaks("grp-005")
    def takes_id(self, member, answer):
        answer.must_succeed()
        given_id = answer.struct.member_id
        taken = [
            *(each.id for each in self.members if each is not member),
            *self.gone,
            *(id_ for id_, _ in self.fenced),
        ]
        answer.must(bool(given_id) and given_id not in taken, f"{given_id!r} is no id of its own", "member_id")
        answer.must(member.id in ("", given_id), f"the id of {member.id} becomes {given_id}", "member_id")
        member.id = given_id

    def must_welcome(self, member, answer, *, leader=None, skip=False, roster=True):
        """The whole answer to a JoinGroup that was taken."""
        response = answer.must_succeed().struct
        found = [response.generation_id, response.protocol_name, response.leader, response.member_id]
        wanted = [self.generation, self.protocol, self.leader.id if leader is None else leader, member.id]
        if answer.version >= 7:
            found, wanted = [*found, response.protocol_type], [*wanted, TYPE]
        if answer.version >= 9:
            found, wanted = [*found, response.skip_assignment], [*wanted, skip]
        answer.must(found == wanted, f"the generation is returned as {found}; it must be {wanted}", "generation_id")
        named = answer.version >= 5
        members = sorted(
            (each.member_id, (each.group_instance_id if named else None) or "", bytes(each.metadata))
            for each in response.members
        )
        known = sorted(
            (each.id, (each.instance if named else None) or "", dict(each.wishes)[self.protocol])
            for each in self.members
        )
        all_ = known if roster and member is self.leader else []
        with breaks("grp-007"):
            answer.must(members == all_, f"it returns {members}; it must return {all_}", "members")

    def answered_sync(self, member, error=errors.NONE):
        """A SyncGroup that was under way has its answer."""
        if member.sync is not None:
            with breaks("grp-010" if error else "grp-007"):
                self.must_give(member, member.sync, error)
            member.sync = None

    def must_give(self, member, answer, error=errors.NONE):
        """The whole answer to a SyncGroup."""
        response = answer.struct
        found, wanted = [response.error_code, bytes(response.assignment)], [error, b"" if error else member.given]
        if answer.version >= 5 and not error:
            found, wanted = [*found, response.protocol_type, response.protocol_name], [*wanted, TYPE, self.protocol]
        answer.must(found == wanted, f"SyncGroup is answered {found}; it must be {wanted}", "assignment")

    # -- how it is described ---------------------------------------------------------------------------------

    def must_be_described(self):
        """State and members as they are; what was sent and waits has arrived when it is so."""
        with breaks(*self.broken):
            self.wire.eventually(same_draws(self.rng, self._described), within=10)
        self._listed()

    def _described(self):
        answer = self.ask_coordinator(request("DescribeGroups", groups=[self.name]), self.drawn("DescribeGroups"))
        answer.must_succeed()
        row = answer.struct.groups[0]
        found = (row.group_state, row.protocol_type if self.members else TYPE, row.protocol_data)
        wanted = (self.state, TYPE, self.protocol if self.state == STABLE else "")
        answer.must(found == wanted, f"the group is {found}; it must be {wanted}", "groups[0].group_state")
        named = answer.version >= 4
        rows = {each.member_id: each for each in row.members}
        fresh = sorted(((member.instance or "") if named else "") for member in self.members if not member.id)
        members = {member.id: member for member in self.members if member.id}
        reported = {id_: self._reported(each, named) for id_, each in rows.items() if id_ in members}
        known = {id_: self._of(member, named) for id_, member in members.items()}
        strange = sorted(
            ((each.group_instance_id or "") if named else "")
            for id_, each in rows.items()
            if id_ not in members and id_ not in self.gone and id_ not in {old for old, _ in self.fenced}
        )
        answer.must(reported == known, f"the members are {reported}; they must be {known}", "groups[0].members")
        exact = strange == fresh and len(row.members) == len(self.members)
        answer.must(exact, f"there are {len(row.members)} members, {strange} of them new; {fresh} must", "groups[0]")

    def _of(self, member, named):
        more = (dict(member.wishes)[self.protocol], member.given) if self.state == STABLE else ()
        return (member.instance if named else None, *more)

    def _reported(self, row, named):
        more = (bytes(row.member_metadata), bytes(row.member_assignment)) if self.state == STABLE else ()
        return (row.group_instance_id if named else None, *more)

    @breaks("grp-020")
    def _listed(self):
        """ListGroups names the group once, where the filters match it."""
        version = self.drawn("ListGroups")
        states = self.rng.choice(([], [self.state], [each for each in STATES if each != self.state]))
        types = self.rng.choice(([], ["classic"], ["consumer"])) if version >= 5 else []
        asked = request("ListGroups", states_filter=states if version >= 4 else [], types_filter=types)
        answer = self.ask_coordinator(asked, version).must_succeed()
        row = (TYPE, self.state if version >= 4 else "", "classic" if version >= 5 else "")
        found = [
            (
                each.protocol_type if self.members else TYPE,
                each.group_state if version >= 4 else "",
                each.group_type if version >= 5 else "",
            )
            for each in answer.struct.groups
            if each.group_id == self.name
        ]
        wanted = [row] if (version < 4 or not states or self.state in states) and "consumer" not in types else []
        answer.must(found == wanted, f"v{version} lists {found} for {states} {types}; it must {wanted}", "groups")
