"""The topics in which coordinators keep what they know may be deleted like any other: what was in them is gone then."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors

OFFSETS = "__consumer_offsets"
MAY_KEEP_IT = (
    errors.INVALID_TOPIC_EXCEPTION,
    errors.TOPIC_AUTHORIZATION_FAILED,
    errors.CLUSTER_AUTHORIZATION_FAILED,
    errors.INVALID_REQUEST,
    errors.UNKNOWN_TOPIC_OR_PARTITION,
)
GROUPS, WITHIN_S = 6, 20
COMMITS = {"OffsetCommit": 2, "OffsetFetch": 2, "DeleteTopics": 1}


@case(
    "commits/nothing-outlives-their-log",
    guarantees=["adm-006", "cmt-001", "cmt-002", "grp-016"],
    apis={**COMMITS, "JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0, "ListGroups": 0},
    needs=["started", "terminate", "restart"],
    since="4.1 (KAFKA-19274)",
    detects=["K44"],
)
def groups_begin_anew_with_their_topic(wire, topic, nodes, rng):
    """Once the offsets topic was deleted, no group MUST have an offset or a member from before. It MUST accept commits
    and members as a new group does, and what was committed since MUST be returned, after a restart too.

    Twice, with six groups of drawn kinds in all partitions of that topic: offsets alone, or a member beside them. The
    second time the node is stopped in between.
    """
    groups = CommittedGroups(wire, topic, rng)
    for turn in range(2):
        groups.commit()
        if turn:
            nodes.stop_and_start(nodes.of(topic))
            groups.must_have_what_was_committed()
        delete_internal(wire, OFFSETS)
        wire.eventually(groups.must_have_nothing, within=WITHIN_S)
        groups.commit()
        groups.must_have_what_was_committed()
    nodes.stop_and_start(nodes.of(topic))
    groups.must_have_what_was_committed()


class CommittedGroups:
    """Several groups, the offset that each must have, and the members that some have."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng, self.next = wire, topic, rng, 0
        self.offsets = dict.fromkeys((wire.name("g") for _ in range(GROUPS)), -1)
        self.members = {}

    def commit(self):
        for group in self.offsets:
            self.next += 1
            self.offsets[group] = self.next
            joins = group in self.members or self.rng.random() < 0.5
            if not joins:
                self.wire.commit(group, self.topic, offset=self.next).must_succeed()
                continue
            if group not in self.members:
                self.members[group] = self.wire.member(group, self.wire.name("m"))
                rebalance(self.members[group])
            self.members[group].commit(self.topic, offset=self.next).must_succeed()

    def must_have_what_was_committed(self):
        for group, offset in self.offsets.items():
            self.wire.committed(group, self.topic).must_be(offset)

    def must_have_nothing(self):
        for group in self.offsets:
            self.wire.committed(group, self.topic).must_be(-1)
        for member in self.members.values():
            member.heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)
        listed = {row.group_id for node in self.wire.nodes for row in self._listed(node)}
        left = sorted(listed & {*self.offsets})
        self.wire.must(not left, f"ListGroups lists {', '.join(left)}, of which nothing is left")
        self.members = {}

    def _listed(self, node):
        return self.wire.list_groups(to=node).must_succeed().struct.groups


def delete_internal(wire, name):
    """Has the broker delete a topic of its own; one that keeps it is not judged."""
    answer = wire.delete_topic(name)
    if answer.error in MAY_KEEP_IT:
        wire.not_applicable(f"{name} cannot be deleted here: {errors.name(answer.error)}")
    answer.must_succeed()
