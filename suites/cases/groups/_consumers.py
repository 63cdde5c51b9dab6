"""A KIP-848 group as it must be: what each member reported last, and what it was assigned.

A heartbeat that leaves a field out (null) leaves it unchanged; an empty list of names or partitions means none. Which
member gets which partition is the broker's choice: each subscribed partition has one target, a member that subscribes
to it.
"""

from typing import Any

from brokertrial.suites.cases.groups._asked import AskedGroup
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire import errors
from brokertrial.wire.messages import request

BEAT, LONG_MS, WITHIN_S, AWAY = "ConsumerGroupHeartbeat", 300_000, 40, -2
SAID = {
    "names": "subscribed_topic_names",
    "regex": "subscribed_topic_regex",
    "assignor": "server_assignor",
    "rack": "rack_id",
}


class ConsumerModel:
    """A member: what it reported last, its assignment, and what it holds until it reports that it does not."""

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
        self.changed = False
        """A topic or a pattern, since the group was settled last: that is found out in the background."""
        self.computed = (0, "")
        """For which epoch what each should own was computed last, and by which assignor."""
        self.epoch, self.must_rise = 0, False
        """That of the group when it was asked last, and whether somebody has said since that it reads other topics."""

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
        """A heartbeat with some of the fields, or with all; the assignment in the answer is taken over."""
        joins = member.epoch == 0
        self.changed = self.changed or bool(says.get("regex") or ("regex" in says and member.said["regex"]))
        self.must_rise |= sorted(says.get("names", member.said["names"])) != sorted(member.said["names"])
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

    @breaks("g848-005")
    def takes(self, member, answer, *, full):
        response = answer.must_succeed().struct
        answer.must_have("member_id", member.id)
        rises = response.member_epoch >= max(1, member.epoch)
        answer.must(rises, f"its epoch goes from {member.epoch} to {response.member_epoch}", "member_epoch")
        member.epoch = response.member_epoch
        if response.assignment is None:
            answer.must(not full, "a full heartbeat must be answered with the whole assignment", "assignment")
            return
        member.owned = _parts(response.assignment.topic_partitions)
        member.held |= member.owned
        others = {part for each in self.members if each is not member for part in each.held}
        both = sorted(member.owned & others)
        with breaks("g848-002"):
            answer.must(not both, f"{both} are assigned to it, and another has not given them back", "assignment")

    # -- what must come of it --------------------------------------------------------------------------------

    def reads(self, member):
        """The topics that its names and its pattern amount to."""
        matched = set(member.said["regex"].split("|"))
        return {topic for topic in self.counts if topic in matched or topic in member.said["names"]}

    def settle(self):
        """What was said is so at once; then all beat, saying what they own, until each has what it should have."""
        self.must_stand()
        with breaks("g848-013" if self.changed else "g848-005"):
            look = same_draws(self.rng, lambda: self._settled(*self._asked()))
            self.wire.eventually(lambda: self._round(look), within=WITHIN_S)
        self.changed = False

    @breaks("g848-015")
    def must_stand(self):
        """As it is described now, in whichever stage it is."""
        answer, row = self._asked()
        self._wishes(answer, row)
        self._stage(answer, row)
        by_name = not (self.changed or any(each.said["regex"] for each in self.members))
        if row.group_epoch == row.assignment_epoch and by_name:
            self._listed(row.group_state)
            self._targets(answer, row)

    def _round(self, look):
        for each in self.present:
            before = each.epoch
            self.beat(each)
            if each.epoch > before and self.rng.random() < 0.3:
                self._loses_the_answer(each, before)
        look()

    @breaks("g848-003")
    def _loses_the_answer(self, member, before):
        """It heartbeats again in its epoch before, with no more partitions than it has been assigned since; otherwise
        it is fenced.
        """
        more = member.owned | {(self.wire.topic_id(next(iter(self.counts))), 99)}
        for owned in (more, None):
            answer = self.ask(member, before, instance=member.instance, owned=owned)
            answer.must_be_refused(errors.FENCED_MEMBER_EPOCH)
        some = frozenset(part for part in sorted(member.owned) if self.rng.random() < 0.5)
        again = {
            "rebalance_timeout_ms": LONG_MS,
            "subscribed_topic_names": member.said["names"],
            "subscribed_topic_regex": member.said["regex"],
        }
        answer = self.ask(member, before, least=1, instance=member.instance, owned=some, **again)
        member.held = some
        self.takes(member, answer, full=True)

    def _asked(self):
        """The answer of ConsumerGroupDescribe, in a drawn version."""
        version = self.rng.choice(list(self.wire.versions("ConsumerGroupDescribe")))
        asked = request("ConsumerGroupDescribe", group_ids=[self.name])
        answer = self.ask_coordinator(asked, version).must_succeed()
        return answer, answer.struct.groups[0]

    def _wishes(self, answer, row):
        """Each member is described with what it said, and the assignor is one that most ask for."""
        found = {each.member_id: _reported(each, answer.version) for each in row.members}
        wanted = {each.id: _known(each) for each in self.members}
        answer.must(found == wanted, f"members are described with {found}; they said {wanted}", "groups[0].members")
        votes = [each.said["assignor"] for each in self.members if each.said["assignor"]]
        most = {name for name in votes if votes.count(name) == max(map(votes.count, votes))}
        fits = not most or row.assignor_name in most
        answer.must(fits, f"the assignor is {row.assignor_name}; most ask for {most}", "groups[0].assignor_name")

    def _stage(self, answer, row):
        """Each member has its last assignment, and may have more that it is to give up; no epoch is above the one that
        it follows; and the state follows from them.
        """
        self._notes_assignor(row)
        self._has_risen(answer, row.group_epoch)
        ids, members = self.ids(), row.members
        owned = {each.member_id: _parts(each.assignment.topic_partitions) for each in members}
        assigned = {each.id: {part for part in each.owned if part[0] in ids} for each in self.members}
        has = all(assigned[id_] <= owned[id_] for id_ in owned)
        answer.must(has, f"members own {owned}; they were assigned {assigned}", "groups[0].members")
        epochs = [each.member_epoch for each in members]
        in_order = max([0, *epochs]) <= row.assignment_epoch <= row.group_epoch
        where = f"the group is in {row.group_epoch}, {row.assignment_epoch} and its members in {epochs}"
        answer.must(in_order, where, "groups[0].group_epoch")
        reached = all(
            each.member_epoch == row.assignment_epoch
            and _parts(each.assignment.topic_partitions) == _parts(each.target_assignment.topic_partitions)
            for each in members
        )
        behind = "Assigning" if row.group_epoch > row.assignment_epoch else "Stable" if reached else "Reconciling"
        state = behind if members else "Empty"
        if self.changed and state == "Stable" and row.group_state == "Reconciling":
            return  # of a topic that is gone nothing is described (ConsumerGroupMember.topicPartitionsFromMap)
        answer.must(row.group_state == state, f"it is {row.group_state}: {where}; it must be {state}", "groups[0]")

    def _has_risen(self, answer, epoch):
        """Since it was looked at last, where a member has come to read other topics."""
        rose = epoch > self.epoch or not self.must_rise
        what = f"the group epoch is still {epoch}, although a member subscribes to other topics now"
        with breaks("g848-005"):
            answer.must(rose, what, "groups[0].group_epoch")
        self.epoch, self.must_rise = epoch, False

    def _settled(self, answer, row):
        epochs = {each.epoch for each in self.present}
        same = not epochs or epochs == {row.group_epoch} == {row.assignment_epoch}
        answer.must(same, f"members are in {epochs}, the group in {row.group_epoch}", "groups[0].group_epoch")
        self._has_risen(answer, row.group_epoch)
        state = "Stable" if len(self.present) == len(self.members) else "Reconciling"
        answer.must_have("groups[0].group_state", state)
        owned = {each.member_id: sorted(_parts(each.assignment.topic_partitions)) for each in row.members}
        wanted = {each.id: sorted(each.owned) for each in self.members}
        answer.must(owned == wanted, f"its members own {owned}; they must {wanted}", "groups[0].members")
        self._targets(answer, row)
        for each in row.members:
            target, own = each.target_assignment.topic_partitions, each.assignment.topic_partitions
            fits = each.member_epoch == AWAY or _parts(target) == _parts(own)
            answer.must(fits, f"{each.member_id} owns {own} and should own {target}", "groups[0].members")
        self._listed(state)

    def _targets(self, answer, row):
        """Each partition that is read has one target, which reads it; who is there owns its target."""
        ids, targets = (
            self.ids(),
            {each.member_id: _parts(each.target_assignment.topic_partitions) for each in row.members},
        )
        parts = [part for each in row.members for part in each.target_assignment.topic_partitions]
        names = {(part.topic_name, ids.get(part.topic_id)) for part in parts}
        misnamed = sorted(f"{name} for {topic}" for name, topic in names if name != topic)
        answer.must(not misnamed, f"it names {misnamed}", "groups[0].members")
        for each in self.members:
            named = {ids.get(topic) for topic, _ in targets[each.id]}
            reads = self.reads(each)
            answer.must(named <= reads, f"{each.id} reads {reads} and should own of {named}", "groups[0].members")
        given = sorted((ids.get(topic), n) for target in targets.values() for topic, n in target)
        read = set().union(*map(self.reads, self.members))
        wanted = sorted((topic, n) for topic in read for n in range(self.counts[topic]))
        answer.must(given == wanted, f"targets are {given}; they must be {wanted}", "groups[0].members")
        self._notes_assignor(row)
        (self._uneven if self.computed[1] == "uniform" else self._out_of_range)(answer, ids, targets)

    def _notes_assignor(self, row):
        """Another one that most ask for computes nothing before the group is in another epoch."""
        if row.assignment_epoch != self.computed[0]:
            self.computed = (row.assignment_epoch, row.assignor_name)

    def _uneven(self, answer, ids, targets):
        """No member has two more than another that reads some of what it has."""
        for one in self.members:
            for other in self.members:
                able = any(ids[topic] in self.reads(other) for topic, _ in targets[one.id])
                far = len(targets[one.id]) - len(targets[other.id]) > 1
                answer.must(not (able and far), f"uniform gives {targets}, which is uneven", "groups[0].members")

    def _out_of_range(self, answer, ids, targets):
        """Each member that reads a topic has one range of it, of the same size or one less than the one before."""
        for topic, count in self.counts.items():
            readers = [each for each in self.members if topic in self.reads(each)]
            parts = [sorted(n for id_, n in targets[each.id] if ids[id_] == topic) for each in readers]
            sizes = [len(each) for each in sorted(parts, key=lambda each: each or [count])]
            even = [count // len(sizes) + (n < count % len(sizes)) for n in range(len(sizes))]
            whole = all(each == list(range(each[0], each[-1] + 1)) for each in parts if each)
            answer.must(whole and sizes == even, f"range gives {parts} of {topic}", "groups[0].members")

    @breaks("grp-020")
    def _listed(self, state):
        """ListGroups names the group where the filters match it."""
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


def _reported(row, version):
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
