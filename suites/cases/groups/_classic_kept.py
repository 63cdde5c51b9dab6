"""What the coordinator of a classic group has written: all that is left of it after a stop, a kill or a move.

A generation is written when its leader has brought the assignments, and again when a static member returned to it or
all have left; no step of a rebalance before that is. So an unfinished one is lost: the group is as it was before it,
whom it took in is unknown, and whom it let go or replaced is back (GroupMetadataManager.replay of GroupMetadataValue).
Of each member one protocol is kept, the chosen one.
"""

from typing import Any

from brokertrial.suites.cases.groups._classic import EMPTY, PREPARING, STABLE, Group
from brokertrial.suites.cases.groups._classic_steps import (
    all_refuse,
    comes,
    first_comes,
    goes,
    joins,
    leave,
    other_wishes,
    returns,
    settles,
    steps_of,
    takes_an_id,
)
from brokertrial.suites.cases.groups._over import found, must_be_here
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

DEAD = "Dead"
NONE_LEFT, UNFINISHED = "none left", "unfinished"
ANCHOR = 41
"""What is committed for a second partition, and stays: Kafka 3.9 forgets an empty group with its last offset."""


class KeptGroup(Group):
    """A group and its offset, with what of it is written."""

    here = True
    """At the coordinator that is known."""

    def __init__(self, wire, number, topic, rng):
        super().__init__(wire, wire.name(f"g{number}"), rng)
        self.made = number * 1000  # so that no two groups have members, and connections, of one name
        self.topic, self.offset, self.instances, self.clients = topic, -1, {}, {}
        self.kept: Any = None
        """State, generation, protocol, leader, and each member with its id, metadata and assignment."""

    def looks_again(self):
        super().looks_again()
        must_be_here(self)

    def complete(self):
        if any(member.join.error == errors.NOT_COORDINATOR for member in self.members):
            self.looks_again()
        super().complete()

    def takes_id(self, member, answer):
        super().takes_id(member, answer)
        self.instances[member.id] = member.instance

    def asks_to_join(self, member, version, *, wait=False, **how):
        """Each on a connection that names another client: that is kept too."""
        if not wait:
            name = f"client{member.number}"
            self.wire.connect(member.line("j"), self.wire.coordinator(self.name), client_id=name)
        return super().asks_to_join(member, version, wait=wait, **how)

    def must_be_described(self):
        super().must_be_described()
        if self.state in (EMPTY, STABLE, DEAD):
            members = [
                (member, member.id, dict(member.wishes).get(self.protocol), member.given) for member in self.members
            ]
            self.kept = (self.state, self.generation, self.protocol, self.leader, members)

    @breaks("grp-016")
    def reloaded(self, *, answered):
        """Only what was written is left of the group. A waiting JoinGroup or SyncGroup is answered with
        NOT_COORDINATOR, or its answer is lost.
        """
        for member in self.members:
            for waiting in (member.join, member.sync):
                if waiting is not None and answered:
                    waiting.must_be_refused(errors.NOT_COORDINATOR)
                elif waiting is not None:
                    waiting.examined = True
        self.instances |= {member.id: None for member in self.reserved}
        self.state, self.generation, self.protocol, self.leader, members = self.kept
        self.reserved, self.members = [], []
        for member, id_, metadata, given in members:
            member.id, member.wishes, member.given = id_, [(self.protocol, metadata)], given
            member.join, member.sync, member.lives = None, None, member.lives + 1
            self.members.append(member)
        self.votes_then = self.votes() if self.members else None
        there = [member.id for member in self.members]
        self.gone = [id_ for id_ in self.instances if id_ not in there]
        self.fenced = [(id_, self.instances[id_]) for id_ in self.gone if self.instances[id_]]
        self.must_go_on()

    def must_go_on(self):
        """The group is described as before, its members go on in it, and all former members are refused."""
        self.broken = ("grp-016",)
        found(self, self.must_be_described)
        self.broken = ("grp-020",)
        self.wire.eventually(self.must_have_its_offsets, within=10)
        for member in self.members:
            self.heartbeat(member.id, member.instance).must_succeed()
            self.must_give(member, self.asks_to_sync(member, self.drawn("SyncGroup", 3 if member.instance else 0)))
        followers = [member for member in self.members if member is not self.leader]
        if followers:
            member = self.rng.choice(followers)
            self.must_welcome(member, self.asks_to_join(member, self.drawn("JoinGroup", 5 if member.instance else 0)))
        if self.state == DEAD:
            return
        for old in self.gone[-2:]:
            all_refuse(self, self.topic, old, None, errors.UNKNOWN_MEMBER_ID)
        for old, instance in self.fenced[-2:]:
            held = self.holds(instance)
            all_refuse(self, self.topic, old, instance, errors.FENCED_INSTANCE_ID if held else errors.UNKNOWN_MEMBER_ID)

    @breaks("cmt-002")
    def must_have_its_offsets(self):
        self.wire.committed(self.name, self.topic).must_be(self.offset)
        self.wire.committed(self.name, self.topic, 1).must_be(-1 if self.state == DEAD else ANCHOR)

    # -- how it is described ---------------------------------------------------------------------------------

    def _described(self):
        if self.state != DEAD:
            super()._described()
            return
        answer = self.ask_coordinator(request("DescribeGroups", groups=[self.name]), self.drawn("DescribeGroups"))
        row = answer.struct.groups[0]
        found = (row.error_code, row.group_state, len(row.members))
        wanted = (errors.GROUP_ID_NOT_FOUND if answer.version >= 6 else errors.NONE, DEAD, 0)
        answer.must(found == wanted, f"once deleted it is {found}; it must be {wanted}", "groups[0].group_state")

    def _reported(self, row, named):
        """And its client, which stays what it was at first."""
        client = (row.client_id, row.client_host)
        self.clients.setdefault(row.member_id, client)
        return (*super()._reported(row, named), client)

    def _of(self, member, named):
        return (*super()._of(member, named), self.clients.get(member.id))

    def _listed(self):
        if self.state != DEAD:
            super()._listed()
            return
        asked = request("ListGroups", states_filter=[], types_filter=[])
        answer = self.ask_coordinator(asked, self.drawn("ListGroups"))
        there = self.name in [each.group_id for each in answer.must_succeed().struct.groups]
        answer.must(not there, "it lists a group that was deleted", "groups")


# -- steps


def kept_steps_of(one):
    """What may come next, of an empty group and of one that is none also that."""
    if one.state == DEAD:
        return [begins]
    if one.state == EMPTY:
        return [*[first_comes] * 6, dies, offset_goes]
    return [*steps_of(one), offset_goes]


@breaks("cmt-012")
def begins(one, turn):
    """A commit makes it."""
    one.wire.commit_all(one.name, {(one.topic, 0): turn, (one.topic, 1): ANCHOR}).must_succeed()
    one.state, one.generation, one.offset = EMPTY, 0, turn


@breaks("grp-021")
def dies(one, turn):
    answer = one.wire.delete_groups(one.name).must_succeed()
    answer.must(len(answer.struct.results) == 1, "one group is deleted, and not one row is returned", "results")
    one.state, one.generation, one.protocol, one.offset = DEAD, 0, None, -1


@breaks("cmt-014")
def offset_goes(one, turn):
    """OffsetDelete, which a group of another kind than consumers allows where it is empty."""
    answer = one.wire.delete_offsets(one.name, [(one.topic, 0)])
    if one.state == EMPTY:
        answer.must_succeed()
        one.offset = -1
    else:
        answer.must_be_refused(errors.NON_EMPTY_GROUP)


def brings(one, wanted, turn):
    """Leads it to what it is to be in when its coordinator goes."""
    settles(one, turn)
    if wanted in (STABLE, UNFINISHED, NONE_LEFT):
        becomes_stable(one, turn)
    if wanted in (NONE_LEFT, DEAD) and one.members:
        leave(one, list(one.members))
    if wanted == DEAD and one.state != DEAD:
        dies(one, turn)
    one.must_be_described()
    if wanted == UNFINISHED:
        begins_a_rebalance(one, turn)


def becomes_stable(one, turn):
    """Members that came, of which one has left and one, if it is static, has returned."""
    for step in (begins, first_comes):
        if one.state == (DEAD if step is begins else EMPTY):
            does(one, step, turn)
    while len(one.members) < 3:
        does(one, comes, turn)
    settles(one, turn)
    leave(one, [one.rng.choice(one.members)])
    one.must_be_described()
    settles(one, turn)
    does(one, returns, turn)
    settles(one, turn)


def begins_a_rebalance(one, turn):
    """Steps up to where its leader would bring the assignments."""
    while one.state == STABLE:
        does(one, one.rng.choice([comes, other_wishes, goes, returns]), turn)
    for _ in range(one.rng.randrange(6)):
        if one.state == PREPARING:
            does(one, one.rng.choice([joins, joins, joins, takes_an_id, returns, goes]), turn)
        elif one.state != EMPTY:
            does(one, waits, turn)


def does(one, step, turn):
    """One step; its requests have arrived when the group is described as it must be."""
    step(one, turn)
    one.must_be_described()


def waits(one, turn):
    """A follower asks for what it is not given yet."""
    if free := [member for member in one.members if not member.sync and member.id and member is not one.leader]:
        member = one.rng.choice(free)
        member.sync = one.asks_to_sync(member, one.drawn("SyncGroup", 3 if member.instance else 0), wait=False)
