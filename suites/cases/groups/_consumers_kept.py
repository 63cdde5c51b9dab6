"""The log of a coordinator holds the whole state of a KIP-848 group: each change is written before it is answered.

After a stop, a kill or a move the group is therefore what it was before, also in the middle of a change: a member that
was asked to revoke a partition and has not confirmed it still holds it (GroupMetadataManager.replay of the
ConsumerGroup records). Sessions begin anew.
"""

from typing import Any

from brokertrial.suites.cases.groups._consumers import WITHIN_S, Consumers
from brokertrial.suites.cases.groups._consumers_steps import (
    all_change_the_assignor,
    all_come_back,
    comes,
    goes_a_while,
    grows,
    made_again,
    makes_room,
    refused,
    says_some,
    several_at_once,
    steps_of_members,
    unsubscribes,
)
from brokertrial.suites.cases.groups._over import found, must_be_here
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire.messages import request

CALM, AWAY, UNSETTLED, CHANGED, EMPTY, DEAD = "calm", "away", "unsettled", "changed", "empty", "dead"
GROUP_EPOCH, ASSIGNMENT_EPOCH = 2, 3
"""Where `whole` has them."""


class KeptConsumers(Consumers):
    """A group, and how it was described last."""

    here = True
    """At the coordinator that is known."""

    def __init__(self, wire, name, counts, rng):
        super().__init__(wire, name, counts, rng)
        self.condition: str = CALM
        self.kept: Any = None

    def looks_again(self):
        super().looks_again()
        must_be_here(self)

    def whole(self):
        """All that ConsumerGroupDescribe returns of the group, and the answer."""
        answer = self.ask_coordinator(request("ConsumerGroupDescribe", group_ids=[self.name]), None)
        row = answer.struct.groups[0]
        group = (row.error_code, row.group_state, row.group_epoch, row.assignment_epoch, row.assignor_name)
        return answer, (group, {each.member_id: _all_of(each, answer.version) for each in row.members})

    def remember(self):
        self.kept = self.whole()[1]

    @breaks("g848-011", "grp-016")
    def reloaded(self, *, answered):
        """It is as it was, and goes on from there."""
        found(self, lambda: self.wire.eventually(self._must_be_as_kept, within=10))
        self.wire.eventually(self._must_have_its_offset, within=10)
        before = {each.id: (each.epoch, each.owned) for each in self.present}
        for each in self.present:
            self.beat(each, owned=False)
        now = {each.id: (each.epoch, each.owned) for each in self.present}
        stays = self.condition not in (CALM, AWAY) or now == before
        self.wire.must(stays, f"no member said anything new, and members go from {before} to {now}")
        if self.condition in (EMPTY, DEAD):
            comes(self)
        self.settle()
        refused(self)
        if self.condition == EMPTY:
            then, now = self.kept[0][GROUP_EPOCH], self.members[0].epoch
            self.wire.must(now > then, f"the group was in epoch {then}, and who comes to it is in {now}")

    @breaks("g848-005")
    def must_be_assigned(self):
        """Kafka computes what each should own when it is asked, and not too often (since 4.4 in the background)."""
        for each in self.present:
            self.beat(each, owned=False)
        answer, (group, _) = self.whole()
        same = group[GROUP_EPOCH] == group[ASSIGNMENT_EPOCH]
        answer.must(same, f"the group is {group}; what each should own must follow", "groups[0].assignment_epoch")

    @breaks("cmt-002")
    def _must_have_its_offset(self):
        self.wire.committed(self.name, next(iter(self.counts))).must_be(self.offset)

    @breaks("g848-011")
    def _must_be_as_kept(self):
        answer, (group, members) = self.whole()
        answer.must(group == self.kept[0], f"the group is {group}; it was {self.kept[0]}", "groups[0].group_epoch")
        answer.must(members == self.kept[1], f"members are {members}; they were {self.kept[1]}", "groups[0].members")


def _all_of(row, version):
    said = (row.instance_id, row.rack_id, row.client_id, row.client_host, row.member_type if version >= 1 else 1)
    reads = (sorted(row.subscribed_topic_names), row.subscribed_topic_regex or "")
    return (row.member_epoch, *said, *reads, _parts(row.assignment), _parts(row.target_assignment))


def _parts(assignment):
    return sorted((str(row.topic_id), n) for row in assignment.topic_partitions for n in row.partitions)


def kept_steps_of(one):
    """No new patterns: when one is found out cannot be seen, and then what those may have moves that are away."""
    if not one.members:
        return [comes]
    steps = [step for step in steps_of_members(one) if step is not several_at_once]
    return [says_names if step is says_some else step for step in steps]


# -- what it is in


def brings(one, condition):
    """Leads it to what it is to be in when its coordinator goes."""
    one.condition = condition
    all_come_back(one)
    while len(one.members) < 2:
        comes(one)
    one.settle()
    CONDITIONS[condition](one)
    one.remember()


def _calm(one):
    """With the assignor that is not the default, and a pattern. Its matches are resolved in the background, and no
    member names that topic, so that the group cannot settle before.
    """
    one.assignor = "uniform"
    all_change_the_assignor(one)
    member, topic = one.rng.choice(one.present), one.rng.choice(list(one.counts))
    for each in one.present:
        matches = {"names": [], "regex": topic} if each is member else {}
        one.beat(each, **{"names": [name for name in one.counts if name != topic], "regex": "", **matches})
    one.settle()


def _away(one):
    while not any(each.instance for each in one.members):
        makes_room(one)
        comes(one)
    one.settle()
    goes_a_while(one)


def _unsettled(one):
    """A member joins, or reads other topics, and the others are asked to revoke partitions, which they still hold."""
    makes_room(one)
    one.rng.choice([comes, says_names, unsubscribes])(one)
    one.wire.eventually(same_draws(one.rng, one.must_be_assigned), within=WITHIN_S)
    for each in one.present:
        one.beat(each, owned=False)


def says_names(one):
    member = one.rng.choice(one.present)
    one.beat(member, owned=False, names=list(one.counts) if len(member.said["names"]) < len(one.counts) else [])


def _changed(one):
    """A topic changes, and no request has followed."""
    one.rng.choice([grows] if any(each.said["regex"] for each in one.members) else [grows, made_again])(one)


@breaks("g848-005")
def _empty(one):
    for member in one.present:
        one.ask(member, -1, instance=member.instance).must_succeed()
    one.gone += one.members
    one.members = []


@breaks("grp-021")
def _dead(one):
    _empty(one)
    one.wire.delete_groups(one.name).must_succeed()
    one.offset = -1


CONDITIONS = {CALM: _calm, AWAY: _away, UNSETTLED: _unsettled, CHANGED: _changed, EMPTY: _empty, DEAD: _dead}
