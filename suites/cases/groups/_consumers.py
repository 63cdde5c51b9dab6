"""A KIP-848 group as it must be: what each member said last, and what it was told to own.

A heartbeat that leaves a field out (null) leaves it as it was; an empty list of names or partitions is none. Which
partition goes to whom is the broker's choice: of those that are read each has one target, a member that reads it.
"""

from typing import Any

from brokertrial.suites.cases.groups._asked import AskedGroup
from brokertrial.wire.messages import request

BEAT, LONG_MS, WITHIN_S, AWAY = "ConsumerGroupHeartbeat", 300_000, 40, -2
SAID = {
    "names": "subscribed_topic_names",
    "regex": "subscribed_topic_regex",
    "assignor": "server_assignor",
    "rack": "rack_id",
}


class ConsumerModel:
    """A member: what it said last, what it was told to own, and what it holds until it says that it does not."""

    def __init__(self, id_, instance, names):
        self.id, self.instance, self.epoch = id_, instance, 0
        self.owned: frozenset[Any] = frozenset()
        self.held: frozenset[Any] = frozenset()
        self.said = {"names": names, "regex": "", "assignor": None, "rack": None}

    @property
    def away(self):
        return self.epoch == AWAY


class Consumers(AskedGroup):
    """The group, its topics with their numbers of partitions, and who must be refused."""

    def __init__(self, wire, name, counts, rng):
        super().__init__(wire, name, rng)
        self.counts = counts
        self.members, self.gone, self.fenced, self.offset = [], [], [], -1
        self.assignor = "uniform"

    # -- what it is asked ------------------------------------------------------------------------------------

    @property
    def present(self):
        return [each for each in self.members if not each.away]

    def ids(self):
        return {self.wire.topic_id(topic): topic for topic in self.counts}

    def ask(self, member, epoch, *, least=0, instance=None, **fields):
        """A heartbeat as it is, in a version that is drawn."""
        if fields.get("owned") is not None:
            fields["topic_partitions"] = _by_id(fields["owned"])
        fields.pop("owned", None)
        asked = request(
            BEAT, group_id=self.name, member_id=member.id, member_epoch=epoch, instance_id=instance, **fields
        )
        return self.ask_coordinator(asked, self.drawn(BEAT, least))

    def beat(self, member, *, full=False, owned=True, **says):
        """A heartbeat that says some of what there is to say, or all of it; what it is told is taken over."""
        joins = member.epoch == 0
        member.said |= says
        shown = {SAID[key]: value for key, value in (member.said if joins or full else says).items()}
        if not shown.get("subscribed_topic_regex") and "regex" not in says:
            shown.pop("subscribed_topic_regex", None)
        timeout = {"rebalance_timeout_ms": LONG_MS} if joins or full else {}
        has = frozenset() if joins else member.owned
        holds = has if owned or joins or full else None
        answer = self.ask(
            member,
            member.epoch,
            least=1 if "subscribed_topic_regex" in shown else 0,
            instance=member.instance,
            owned=holds,
            **shown,
            **timeout,
        )
        member.held = member.held if holds is None else holds
        self.takes(member, answer, full=joins or full)
        return answer

    def takes(self, member, answer, *, full):
        told = answer.must_succeed().struct
        answer.must_have("member_id", member.id)
        rises = told.member_epoch >= max(1, member.epoch)
        answer.must(rises, f"its epoch goes from {member.epoch} to {told.member_epoch}", "member_epoch")
        member.epoch = told.member_epoch
        if told.assignment is None:
            answer.must(not full, "who says all must be told all that it owns", "assignment")
            return
        member.owned = _parts(told.assignment.topic_partitions)
        member.held |= member.owned
        others = {part for each in self.members if each is not member for part in each.held}
        both = sorted(member.owned & others)
        answer.must(not both, f"{both} are told to it, and another has not given them back", "assignment")

    # -- what must come of it --------------------------------------------------------------------------------

    def reads(self, member):
        """The topics that its names and its pattern amount to."""
        matched = set(member.said["regex"].split("|"))
        return {topic for topic in self.counts if topic in matched or topic in member.said["names"]}

    def settle(self):
        """What was said is so at once; then all beat, saying what they own, until each has what it should have."""
        self._wishes(*self._asked())
        self.wire.eventually(self._round, within=WITHIN_S)

    def _round(self):
        for each in self.present:
            self.beat(each)
        self._settled(*self._asked())

    def _asked(self):
        """What ConsumerGroupDescribe tells, in a version that is drawn."""
        version = self.rng.choice(list(self.wire.versions("ConsumerGroupDescribe")))
        asked = request("ConsumerGroupDescribe", group_ids=[self.name])
        answer = self.ask_coordinator(asked, version).must_succeed()
        return answer, answer.struct.groups[0]

    def _wishes(self, answer, row):
        """Each member is described with what it said, and the assignor is one that most ask for."""
        found = {each.member_id: _told(each, answer.version) for each in row.members}
        wanted = {each.id: _known(each) for each in self.members}
        answer.must(found == wanted, f"members are told with {found}; they said {wanted}", "groups[0].members")
        votes = [each.said["assignor"] for each in self.members if each.said["assignor"]]
        most = {name for name in votes if votes.count(name) == max(map(votes.count, votes))}
        fits = not most or row.assignor_name in most
        answer.must(fits, f"the assignor is {row.assignor_name}; most ask for {most}", "groups[0].assignor_name")

    def _settled(self, answer, row):
        epochs = {each.epoch for each in self.present}
        same = not epochs or epochs == {row.group_epoch} == {row.assignment_epoch}
        answer.must(same, f"members are in {epochs}, the group in {row.group_epoch}", "groups[0].group_epoch")
        state = "Stable" if len(self.present) == len(self.members) else "Reconciling"
        answer.must_have("groups[0].group_state", state)
        owned = {each.member_id: sorted(_parts(each.assignment.topic_partitions)) for each in row.members}
        wanted = {each.id: sorted(each.owned) for each in self.members}
        answer.must(owned == wanted, f"its members own {owned}; they must {wanted}", "groups[0].members")
        self._targets(answer, row)
        self._listed(state)

    def _targets(self, answer, row):
        """Each partition that is read has one target, which reads it; who is there owns its target."""
        ids, targets = (
            self.ids(),
            {each.member_id: _parts(each.target_assignment.topic_partitions) for each in row.members},
        )
        for each in self.members:
            named = {ids.get(topic) for topic, _ in targets[each.id]}
            reads = self.reads(each)
            answer.must(named <= reads, f"{each.id} reads {reads} and should own of {named}", "groups[0].members")
            fits = each.away or targets[each.id] == each.owned
            answer.must(fits, f"{each.id} owns {each.owned} and should own {targets[each.id]}", "groups[0].members")
        given = sorted((ids.get(topic), n) for target in targets.values() for topic, n in target)
        read = set().union(*map(self.reads, self.members))
        wanted = sorted((topic, n) for topic in read for n in range(self.counts[topic]))
        answer.must(given == wanted, f"targets are {given}; they must be {wanted}", "groups[0].members")

    def _listed(self, state):
        """ListGroups tells of it where the filters let it through."""
        states = self.rng.choice(([], [state], ["PreparingRebalance"]))
        types = self.rng.choice(([], ["consumer"], ["classic"]))
        version = self.rng.choice([each for each in self.wire.versions("ListGroups") if each >= 5])
        asked = request("ListGroups", states_filter=states, types_filter=types)
        answer = self.ask_coordinator(asked, version).must_succeed()
        rows = [each for each in answer.struct.groups if each.group_id == self.name]
        found = [(each.protocol_type, each.group_state, each.group_type) for each in rows]
        through = states in ([], [state]) and types in ([], ["consumer"])
        wanted = [("consumer", state, "consumer")] if through else []
        answer.must(found == wanted, f"it lists {found} for {states} {types}; it must {wanted}", "groups")


def _told(row, version):
    said = (row.rack_id, sorted(row.subscribed_topic_names), row.subscribed_topic_regex or "")
    return (row.instance_id, row.member_epoch, *said, row.member_type if version >= 1 else 1)


def _known(member):
    said = (member.said["rack"], sorted(member.said["names"]), member.said["regex"])
    return (member.instance, member.epoch, *said, 1)


def _parts(rows):
    return frozenset((row.topic_id, n) for row in rows for n in row.partitions)


def _by_id(parts):
    ids = sorted({topic for topic, _ in parts})
    return [{"topic_id": id_, "partitions": sorted(n for topic, n in parts if topic == id_)} for id_ in ids]
