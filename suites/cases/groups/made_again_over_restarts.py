"""Groups under a name that groups had before, over stops and kills of their coordinator."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write
from brokertrial.suites.probe.preferred_leaders import await_leaders

LONG = {"session_timeout_ms": 300_000, "rebalance_timeout_ms": 60_000}
WITHIN_S, PARTITIONS = 20, 2
PLAIN, CLASSIC, MODERN = "offsets alone", "classic", "consumer"
LIVES = (
    (CLASSIC, True, CLASSIC),
    (CLASSIC, True, MODERN),
    (CLASSIC, False, CLASSIC),
    (MODERN, True, CLASSIC),
    (MODERN, True, MODERN),
    (MODERN, False, CLASSIC),
    (PLAIN, True, CLASSIC),
    (PLAIN, True, MODERN),
)
"""What a group was, whether that was deleted or its members left alone, and what it is."""


@case(
    "groups/made-again-over-restarts",
    guarantees=["grp-016", "grp-021", "cmt-002", "g848-011"],
    apis={"JoinGroup": 1, "SyncGroup": 0, "Heartbeat": 0, "DescribeGroups": 0, "DeleteGroups": 0, "OffsetCommit": 2},
    needs=["kill", "terminate", "restart"],
    detects=["B251"],
)
def what_a_group_was_before_is_no_hindrance(wire, topic_of, rng, nodes):
    """A group whose name another group had before, of its own kind or the other, MUST be as it was after its
    coordinator was stopped and after it was killed: its members are those of now and go on in their generation or
    epoch with what they were assigned, and it has the offset that was committed last, and none that was deleted.

    A group for each life that a name may have had and have, all at a time; each begins a new life between the stops.
    """
    groups = [MadeAgain(wire, number, topic_of, *lives) for number, lives in enumerate(_lives_here(wire))]
    for act in rng.sample([nodes.stop_and_start, nodes.crash], 2):
        for one in rng.sample(groups, len(groups)):
            one.lives_anew()
        act(nodes.of_group(rng.choice(groups).name))
        await_leaders(wire)
        for one in groups:
            with wire.part(one.what):
                one.must_be_as_before()


def _lives_here(wire):
    offered = bool(wire.versions("ConsumerGroupHeartbeat")) and wire.features.get("group.version", 0) >= 1
    return [lives for lives in LIVES if offered or MODERN not in lives]


class MadeAgain:
    """One name, its members, and the offset of each partition."""

    def __init__(self, wire, number, topic_of, former, deleted, present):
        self.wire, self.former, self.deleted, self.present = wire, former, deleted, present
        self.what = f"{former}, {'deleted' if deleted else 'emptied'}, then {present}"
        self.name, self.topic = wire.name(f"g{number}"), topic_of(partitions=PARTITIONS, what=f"t{number}")
        self.members, self.offsets, self.count, self.kind = [], {}, 0, PLAIN
        if MODERN in (former, present):
            lengthen_sessions(wire, self.name)

    def lives_anew(self):
        """Its members leave, it is what it was before once more, and then what it is."""
        if self.count:
            self._ends(deleted=True)
        self._begins(self.former)
        self._commits(0)
        self._ends(deleted=self.deleted)
        self._begins(self.present)
        self._commits(1)
        self._must_have_its_offsets()

    def _begins(self, kind):
        self.count, self.kind = self.count + 1, kind
        if kind == CLASSIC:
            names = (f"{self.name} {which}{self.count}" for which in "ab")
            self.members = [self.wire.member(self.name, name, **LONG) for name in names]
            rebalance(*self.members, assignments=[member.name.encode() for member in self.members])
        elif kind == MODERN:
            self.members = [ConsumerGroupMember(self.wire, self.name, self.topic) for _ in range(2)]
            for member in self.members:
                member.beat().must_succeed()
            reconcile(*self.members, partitions=PARTITIONS)

    def _commits(self, partition):
        whom = {}
        if self.members:
            one = self.members[0]
            whom = {"member_id": one.id, "generation": one.epoch if self.kind == MODERN else one.generation}
        self.wire.commit(self.name, self.topic, partition, offset=self.count, **whom).must_succeed()
        self.offsets[partition] = self.count

    def _ends(self, *, deleted):
        for member in self.members:
            member.leave().must_succeed()
        self.members = []
        if deleted:
            self.wire.delete_groups(self.name).must_succeed()
            self.offsets = {}

    def must_be_as_before(self):
        """First what is asked to wait while the log is read: Kafka answers Heartbeat blindly then."""
        make_coordinator_write(self.wire, self.name)
        self.wire.eventually(self._must_be_listed, within=WITHIN_S)
        for member in self.members:
            if self.present == CLASSIC:
                self._must_go_on(member)
            else:
                self._must_keep(member)
        self._must_have_its_offsets()

    def _must_be_listed(self):
        answer = self.wire.list_groups(to=self.wire.coordinator(self.name)).must_succeed()
        found = [self._listed(row, answer.version) for row in answer.struct.groups if row.group_id == self.name]
        wanted = [("Stable" if answer.version >= 4 else "", self.present if answer.version >= 5 else "")]
        answer.must(found == wanted, f"it is listed as {found}; it must be {wanted}", "groups")

    @staticmethod
    def _listed(row, version):
        return row.group_state if version >= 4 else "", row.group_type if version >= 5 else ""

    def _must_go_on(self, member):
        described = self.wire.describe_group(self.name).must_succeed()
        found = {row.member_id for row in described.struct.groups[0].members}
        right = found == {each.id for each in self.members}
        described.must(right, f"it has {len(found)} members; it must be the two of now", "groups[0].members")
        member.heartbeat().must_succeed()
        member.sync().must_bring(member.name.encode())

    @staticmethod
    def _must_keep(member):
        epoch, owned = member.epoch, member.owned
        answer = member.beat().must_succeed()
        answer.must(member.epoch >= epoch, f"its epoch is {member.epoch}; it was {epoch}", "member_epoch")
        answer.must(
            member.owned == owned, f"it is assigned {sorted(member.owned)}; it had {sorted(owned)}", "assignment"
        )

    def _must_have_its_offsets(self):
        for partition in range(PARTITIONS):
            self.wire.committed(self.name, self.topic, partition).must_be(self.offsets.get(partition, -1))
