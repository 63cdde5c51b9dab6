"""Assignments are bytes that a broker does not read: there may be none."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import join_together, rebalance


@case(
    "groups/assignments-of-no-bytes",
    guarantee="grp-007",
    apis={"JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0},
    detects=["M24a", edit_answer("error_code", set=27, api="SyncGroup")],
)
def an_assignment_may_be_empty(wire, group):
    """An assignment of no bytes MUST be handed out like any other, to a member that is alone and to one of three; a
    member for which the leader sends nothing MUST be given no bytes, too. All of them stay in the group.

    The three had others in the generation before.
    """
    alone = wire.member(wire.name("g"), "alone")
    alone.join().must_succeed()
    alone.sync({alone.id: b""}).must_bring(b"")
    alone.heartbeat().must_succeed()
    members = [wire.member(group, name) for name in ("a", "b", "c")]
    rebalance(*members, assignments=[b"1", b"2", b"3"])
    leader = join_together(*members)
    empty, full = (member for member in members if member is not leader)
    given = {empty.id: b"", full.id: b"all"}
    answers = [member.sync(given if member is leader else None, wait=False) for member in members]
    for member, answer in zip(members, answers, strict=True):
        answer.must_bring(given.get(member.id, b""))
    for member in members:
        member.heartbeat().must_succeed()
