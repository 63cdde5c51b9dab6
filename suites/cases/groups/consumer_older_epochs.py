"""Commits of a KIP-848 member in every epoch that it ever was in, for what it has owned since then (KIP-1251)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._consumers import WITHIN_S, ConsumerModel, Consumers
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ROUNDS, STEPS, MOST = 3, 7, 3


@case(
    "groups/consumer-commits-in-older-epochs",
    guarantees=["g848-004", "g848-011", "cmt-002"],
    apis={"ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0, "OffsetCommit": 9, "OffsetFetch": 9},
    features={"group.version": 1},
    needs=["partitions", "kill", "terminate", "restart"],
    since="4.3 (KIP-1251)",
    detects=["V80", "V81", "V82"],
)
def what_was_owned_then_may_be_committed_still(wire, topic_of, group, rng, nodes):
    """A member of a KIP-848 group MUST be able to commit, in each epoch that it was in, offsets of the partitions that
    it has owned since then without a break, which it has not given back; a commit in an older epoch of which one
    partition is not such a one MUST be refused (113), as one in an epoch to come, and MUST change nothing. That MUST be
    so after the coordinator was stopped or killed too.

    A commit in the present epoch counts for any partition. Members come, go and read other topics, by draw.
    """
    one = Dated(wire, group, {topic_of(partitions=3): 3, topic_of(partitions=2, what="u"): 2}, rng)
    lengthen_sessions(wire, group)
    one.comes()
    one.comes()
    one.settle()
    for number, down in enumerate(rng.sample([nodes.terminate, nodes.kill, nodes.terminate], ROUNDS)):
        for turn in range(STEPS):
            rng.choice([one.comes, one.comes, one.goes, one.reads_others])()
            one.are_assigned()
            one.commits(number * STEPS + turn)
            one.settle()
            one.commits(number * STEPS + turn)
        rng.choice([one.comes, one.reads_others])()
        one.are_assigned()
        node = nodes.of_group(group)
        down(node)
        nodes.start(node)
        make_coordinator_write(wire, group)
        wire.eventually(one.must_have_its_offsets, within=WITHIN_S)
        one.commits(900 + number)


class Dated(Consumers):
    """The group, and for each of its members the epoch in which it was assigned what it holds."""

    def __init__(self, wire, name, counts, rng):
        super().__init__(wire, name, counts, rng)
        self.since, self.offsets = {}, {}

    def comes(self):
        if len(self.members) < MOST:
            member = ConsumerModel(self.wire.name("m"), None, list(self.counts))
            self.members.append(member)
            self.beat(member)

    def goes(self):
        if len(self.members) > 1:
            member = self.rng.choice(self.members)
            self.ask(member, -1).must_succeed()
            self.members.remove(member)

    def reads_others(self):
        names = [topic for topic in self.counts if self.rng.random() < 0.7]
        self.beat(self.rng.choice(self.members), names=names or list(self.counts)[:1])

    def are_assigned(self):
        """The target assignment is computed and sent; no member reports what it owns, so that it still has what it is
        to revoke.
        """
        self.wire.until(
            same_draws(self.rng, self._is_assigned), within=WITHIN_S, what="what each should own is computed"
        )
        for each in self.members:
            self.beat(each, owned=False)

    def _is_assigned(self):
        for each in self.members:
            self.beat(each, owned=False)
        _, row = self._asked()
        return row.group_epoch == row.assignment_epoch

    def takes(self, member, answer, *, full):
        """What it was to give back, and has, is its own from now on only, if the answer gives it again."""
        has = member.held | member.owned
        since = {part: epoch for part, epoch in self.since.get(member.id, {}).items() if part in has}
        super().takes(member, answer, full=full)
        self.since[member.id] = {part: since.get(part, member.epoch) for part in member.held}

    def commits(self, value):
        """Each member commits in some epochs between its join and the next one: all that it may, or any partitions."""
        ids = self.ids()
        every = [(topic, n) for topic in ids for n in range(self.counts[ids[topic]])]
        for member in self.members:
            since = self.since[member.id]
            for epoch in self.rng.sample(range(member.epoch + 2), 3):
                older = [part for part in every if since.get(part, epoch + 1) <= epoch]
                allowed = every if epoch == member.epoch else older if epoch < member.epoch else []
                parts = self.rng.choice([allowed, allowed, self.rng.sample(every, 1), self.rng.sample(every, 2)])
                if parts:
                    self._commit(member, epoch, parts, value, allowed=set(parts) <= {*allowed})
        self.must_have_its_offsets()

    def _commit(self, member, epoch, parts, value, *, allowed):
        ids, version = self.ids(), self.drawn("OffsetCommit", 9)
        rows = [
            {
                "name": ids[topic],
                "topic_id": topic,
                "partitions": [
                    {"partition_index": n, "committed_offset": value} for other, n in parts if other == topic
                ],
            }
            for topic in dict.fromkeys(topic for topic, _ in parts)
        ]
        who = {"group_id": self.name, "member_id": member.id, "generation_id_or_member_epoch": epoch}
        answer = self.ask_coordinator(request("OffsetCommit", topics=rows, **who), version)
        if not allowed:
            answer.must_be_refused(errors.STALE_MEMBER_EPOCH)
            return
        answer.must_succeed()
        self.offsets |= {(ids[topic], n): value for topic, n in parts}

    def must_have_its_offsets(self):
        committed = self.wire.committed_all(self.name, sorted(self.offsets), version=9).offsets
        self.wire.must(committed == self.offsets, f"it has {committed}; it must have {self.offsets}")
