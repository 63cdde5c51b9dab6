"""KIP-848 members that still have something to give back when another node comes to coordinate their group."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES
from brokertrial.suites.cases.replication._handing_over import hand_over
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, make_coordinator_write
from brokertrial.suites.probe.preferred_leaders import await_leaders

PARTITIONS, ROUNDS, WITHIN_S, PATIENT_MS = 6, 2, 30, 300_000
HANDED_OVER, KILLED, STOPPED = WAYS = "handed over", "killed", "stopped"


@case(
    "groups/consumer-pending-revocation-outlives-its-coordinator",
    guarantees=["g848-005", "g848-002", "grp-016"],
    apis={"ConsumerGroupHeartbeat": 1, **MOVES},
    features={"group.version": 1},
    needs=["started", "three-nodes", "leaders", "partitions", "kill", "terminate", "restart"],
    detects=["B233"],
)
def what_is_not_given_back_is_still_its_own(wire, topic_of, rng, nodes):
    """What a member of a KIP-848 group was called to give back, and has not given back, MUST NOT be assigned to another
    by the next coordinators of the group either, however the one before went; once it is given back it MUST be.

    In three groups one or two members join one that has all, which is called to give back, and gives back nothing or a
    part of it. Then the group is handed over, and back, or its coordinator is killed or stopped, and comes back. What
    the members still own they say in each heartbeat, or do not say at all.
    """
    for way in rng.sample(WAYS, len(WAYS)):
        with wire.part(way):
            group = GivingBack(wire, topic_of(partitions=PARTITIONS, what=way), nodes, rng)
            group.moves(way)
            group.must_share_all()


class GivingBack:
    """A group in which one member is called to give back."""

    def __init__(self, wire, topic, nodes, rng):
        self.wire, self.nodes, self.rng, self.name = wire, nodes, rng, wire.name("g")
        lengthen_sessions(wire, self.name)
        self.has, *self.come = (
            ConsumerGroupMember(wire, self.name, topic, timeout_ms=PATIENT_MS) for _ in range(rng.randint(2, 3))
        )
        self.has.beat().must_succeed()
        reconcile(self.has, partitions=PARTITIONS)
        all_ = self.has.owned
        for each in self.come:
            each.beat().must_succeed()
        wire.until(lambda: self._is_called(all_), within=WITHIN_S, what="it is called to give back")
        held = sorted(all_ - self.has.owned)
        self.has.held = frozenset(held[rng.choice((0, 1)) :])
        self.has.beat().must_succeed()
        self.must_stay()

    def moves(self, way):
        """To another node, and back to the first; each must know what is not given back."""
        first = self.nodes.of_group(self.name)
        if way == HANDED_OVER:
            second = self.rng.choice([node for node in self.wire.nodes if node != first])
            for former, to in ((first, second), (second, first)):
                hand_over(self.wire, OFFSETS_TOPIC, former, to)
                self._goes_on_elsewhere()
            return
        (self.nodes.kill if way == KILLED else self.nodes.terminate)(first)
        self.wire.until(
            lambda: self.nodes.of_group(self.name) != first, within=WITHIN_S, what="another node coordinates the group"
        )
        self._goes_on_elsewhere()
        self.nodes.start(first)
        await_leaders(self.wire)
        self._goes_on_elsewhere()

    def must_share_all(self):
        """Now all is given back."""
        self.has.held = frozenset()
        reconcile(self.has, *self.come, partitions=PARTITIONS)

    def must_stay(self):
        """Whoever asks, and however: none of the others has what it holds."""
        for _ in range(ROUNDS):
            for each in self.rng.sample([self.has, *self.come], len(self.come) + 1):
                answer = each.beat() if self.rng.random() < 0.5 else self._says_nothing(each)
                both = sorted(each.owned & (self.has.owned | self.has.held)) if each is not self.has else []
                answer.must_succeed().must(
                    not both,
                    f"{both} are given to another member, and the one that owns them has not given them back",
                    "assignment",
                )

    def _says_nothing(self, member):
        """A heartbeat without what it owns; what is answered is taken over all the same."""
        answer = self.wire.consumer_group_heartbeat(self.name, member.id, member.epoch).must_succeed()
        member.epoch, assigned = answer.struct.member_epoch, answer.struct.assignment
        if assigned is not None:
            parts = assigned.topic_partitions
            member.owned = frozenset((member.topics[0], index) for row in parts for index in row.partitions)
        return answer

    def _goes_on_elsewhere(self):
        self.wire.forget_coordinator(self.name)
        make_coordinator_write(self.wire, self.name)
        self.must_stay()

    def _is_called(self, owned):
        self.has.beat(owned=owned).must_succeed()
        return len(self.has.owned) == PARTITIONS // (len(self.come) + 1)
