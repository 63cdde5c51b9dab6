"""When a KIP-848 heartbeat is answered with an assignment."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile

WITHIN_S = 30


@case(
    "groups/consumer-assignment-when-it-is-due",
    guarantees=["g848-001", "g848-002"],
    apis={"ConsumerGroupHeartbeat": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["Z28", "G12"],
)
def an_assignment_comes_when_it_changes_or_all_is_said(wire, topic_of, group):
    """A heartbeat MUST be answered with the member's assignment where it has changed, and where the request contains
    all that the member wants and owns; otherwise the assignment MUST be null, also where the request contains the owned
    partitions alone.
    """
    topic = topic_of(partitions=4)
    one, two = (ConsumerGroupMember(wire, group, topic) for _ in range(2))
    one.beat().must_succeed()
    reconcile(one, partitions=4)
    says_all = {"topics": [topic], "rebalance_timeout_ms": 60_000}
    _must_bring(one, None)
    _must_bring(one, [0, 1, 2, 3], **says_all)
    _must_bring(one, None)

    one.held = one.owned
    two.beat().must_succeed()
    wire.until(lambda: one.beat().struct.assignment is not None, within=WITHIN_S, what="the first member is to give up")
    _must_bring(one, None)
    one.held = frozenset()
    reconcile(one, two, partitions=4)
    for member in (one, two):
        _must_bring(member, None)
        _must_bring(member, member.indexes, **says_all)


def _must_bring(member, wanted, **says):
    """The partitions that the answer brings; None: it brings no assignment."""
    answer = member.beat(**says)
    assignment = answer.must_succeed().struct.assignment
    found = (
        None if assignment is None else sorted(index for row in assignment.topic_partitions for index in row.partitions)
    )
    answer.must(found == wanted, f"the assignment in the answer is {found}; it must be {wanted}", "assignment")
