"""Members of KIP-848 groups whose newest word is younger than their epoch, read back from a compacted log."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction._coordinators_logs import APIS, compacted_first
from brokertrial.suites.cases.groups._group_settings import LONGEST_MS, lengthen_sessions
from brokertrial.suites.cases.groups._over import must_be_coordinated
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write
from brokertrial.wire.messages import request

PARTITIONS, WITHIN_S, LONG_MS, ALMOST_MS = 4, 30, 300_000, LONGEST_MS * 4 // 5
CHANGES = (("rack",), ("timeout",), ("topics",), ("topics", "rack"), ("rack", "rack"), ("timeout", "topics", "rack"))
"""What the first of two members changes after it was given its partitions, in each group."""


@case(
    "compaction/members-that-changed-since",
    guarantees=["grp-016", "g848-002", "g848-007", "g848-011"],
    apis={"ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0, **APIS},
    features={"group.version": 1},
    needs=["partitions", "settings", "started", "kill", "terminate", "restart"],
    detects=["B314"],
)
def members_are_read_back_whatever_changed_last(wire, topic_of, rng, nodes):
    """A member of a KIP-848 group MUST be in its epoch, with its rack, its subscription and its partitions, after the
    log of its coordinator was compacted and the coordinator was stopped or killed, also where of its records the one
    about its epoch is the older one, since its rack, its rebalance timeout or its topics changed after it.

    Six groups of two members, each of which changes in another way; stopped and killed, in a drawn order.
    """
    topic, beside = topic_of(partitions=PARTITIONS), topic_of(what="beside")
    groups = [ChangingGroup(wire, f"g{number}", topic, beside) for number in range(len(CHANGES))]
    for group in groups:
        group.join()
    with compacted_first(wire, nodes) as kept:
        for down in rng.sample([kept.stop_and_start, kept.crash], 2):
            for group, changes in zip(groups, rng.sample(CHANGES, len(CHANGES)), strict=True):
                for change in changes:
                    group.change(change)
            before = {group.name: group.described() for group in groups}
            for group in groups:
                group.beat()
            heard_ms = wire.now_ms()
            down(nodes.of_group(rng.choice(groups).name))
            for name in (topic, beside):
                wire.await_topic(name)
            for group in groups:
                wire.forget_coordinator(group.name)
                wire.eventually(lambda of=group.name: must_be_coordinated(wire, of), within=WITHIN_S)
                make_coordinator_write(wire, group.name)
                if wire.now_ms() > heard_ms + ALMOST_MS:
                    wire.unclear("members that were not heard for so long may have been expelled", "slow-target")
                group.must_be(before[group.name])


class ChangingGroup:
    """Two members that share the partitions of a topic; the first may subscribe to an empty one beside it."""

    def __init__(self, wire, what, topic, beside):
        self.wire, self.name, self.changes = wire, wire.name(what), 0
        self.topic, self.beside, self.subscribes_to_both = topic, beside, False
        self.members = [ConsumerGroupMember(wire, self.name, topic) for _ in range(2)]
        self.first = self.members[0]
        self.first.topics = (topic, beside)

    def join(self):
        lengthen_sessions(self.wire, self.name)
        reconcile(*self.members, partitions=PARTITIONS)

    def beat(self):
        for member in self.members:
            member.beat().must_succeed()

    def change(self, what):
        """One heartbeat of the first member, which is acknowledged; where its topics change, until all is settled."""
        self.changes += 1
        if what == "topics":
            self.subscribes_to_both = not self.subscribes_to_both
            topics = [self.topic, self.beside] if self.subscribes_to_both else [self.topic]
            self.first.beat(topics=topics).must_succeed()
            reconcile(*self.members, partitions=PARTITIONS + self.subscribes_to_both)
        elif what == "rack":
            self._moves_to(f"rack-{self.changes}")
        else:
            self.first.beat(rebalance_timeout_ms=LONG_MS + self.changes).must_succeed()

    def _moves_to(self, rack):
        first = self.first
        asked = request(
            "ConsumerGroupHeartbeat", group_id=self.name, member_id=first.id, member_epoch=first.epoch, rack_id=rack
        )
        self.wire.ask(asked, to=lambda: self.wire.coordinator(self.name)).must_succeed()

    def described(self):
        """The epochs of the group, and of each member all that is kept."""
        asked = request("ConsumerGroupDescribe", group_ids=[self.name])
        answer = self.wire.ask(asked, to=lambda: self.wire.coordinator(self.name)).must_succeed()
        found = answer.struct.groups[0]
        kept = {"group epoch": found.group_epoch, "assignment epoch": found.assignment_epoch}
        for each in found.members:
            kept[f"epoch of {each.member_id}"] = each.member_epoch
            kept[f"rack of {each.member_id}"] = each.rack_id
            kept[f"subscription of {each.member_id}"] = ", ".join(sorted(each.subscribed_topic_names))
            kept[f"assignment of {each.member_id}"] = _parts(each.assignment)
            kept[f"target of {each.member_id}"] = _parts(each.target_assignment)
        return answer, kept

    def must_be(self, before):
        """As it was described before, and each member goes on in its epoch."""
        answer, found = self.described()
        for what, value in before[1].items():
            answer.must(found.get(what) == value, f"the {what} is {found.get(what)}; before it was {value}")
        for member in self.members:
            epoch = member.epoch
            beat = member.beat().must_succeed()
            beat.must(
                member.epoch == epoch, f"the member's epoch is {member.epoch}; it must be {epoch}", "member_epoch"
            )


def _parts(assignment):
    found = sorted((part.topic_name, index) for part in assignment.topic_partitions for index in part.partitions)
    return ", ".join(f"{topic}-{index}" for topic, index in found)
