"""A coordinator of groups goes down and comes back: which of them were read back, and when all is still again.

On several nodes the groups move to another node while theirs is down, and back when it leads again: that is waited for,
since Kafka moves leaders back when it likes (auto.leader.rebalance.enable), and what waits for an answer is lost then.
"""

from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, make_coordinator_write
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire import errors

WITHIN_S = 30
ELSEWHERE = (
    errors.COORDINATOR_LOAD_IN_PROGRESS,
    errors.COORDINATOR_NOT_AVAILABLE,
    errors.NOT_COORDINATOR,
)


@breaks("grp-016")
def over(down, nodes, wire, groups, meanwhile):
    """Applies `down(node)` to the coordinator of the first of these groups. `reloaded()` is called on all that it
    coordinated once it is back, and before that where other nodes took over; then `meanwhile` continues each. Waiting
    answers are lost with a node, and `answered` by one that hands a group over.
    """
    node = nodes.of_group(groups[0].name)
    lost = [each for each in groups if nodes.of_group(each.name) == node]
    copied = _is_copied(wire)
    down(node)
    if copied:
        for each in lost:
            wire.until(lambda each=each: nodes.of_group(each.name) != node, within=WITHIN_S, what="another coordinates")
            make_coordinator_write(wire, each.name)
            each.reloaded(answered=False)
        for each in lost:
            meanwhile(each)
    nodes.start(node)
    if copied:
        await_leaders(wire)
    for each in lost:
        wire.forget_coordinator(each.name)
        wire.eventually(lambda each=each: must_be_coordinated(wire, each.name), within=WITHIN_S)
    for each in lost:
        make_coordinator_write(wire, each.name)
        each.reloaded(answered=copied)


def must_be_coordinated(wire, group):
    """What coordinates the group has read its log, and answers for it, whatever it answers."""
    answer = wire.describe_group(group)
    code = answer.struct.groups[0].error_code
    answer.must(
        code not in ELSEWHERE, f"{group} has no coordinator: {errors.name(code)} ({code})", "groups[0].error_code"
    )


def _is_copied(wire):
    """Whether others can take over."""
    if len(wire.nodes) == 1:
        return False
    rows = [row for row in wire.metadata(all_topics=True).struct.topics if row.name == OFFSETS_TOPIC]
    if not rows:
        wire.not_applicable("the topic of the groups is not shown, so that it is not known when they move")
    return all(len(part.replica_nodes) > 1 for part in rows[0].partitions)


def found(one, look):
    """The first look after a move, which may have to wait until the log is read."""
    one.here = False
    look()
    one.here = True


def must_be_here(one):
    """Where a coordinator moves by itself an answer may be lost with its content: the outcome is unclear then."""
    if one.here:
        one.wire.unclear("the coordinator moved, and the case had not moved it")
