"""A first rebalance for which new members keep coming: the first of them does not wait for ever."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.classic_member import Member
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire import errors
from brokertrial.wire.messages import request

DELAY, DELAY_MS, TIMEOUT_MS, EACH_S = "group.initial.rebalance.delay.ms", 1_000, 3_000, 0.4
OPAQUE = {"protocol_type": "opaque", "session_timeout_ms": 300_000, "protocols": [("p", b"p")]}
WAITS, LONGEST_MS, FIRST = "PreparingRebalance", 20_000, 0


@case(
    "groups/first-members-wait-no-longer-than-their-timeout",
    guarantees=["grp-010", "grp-006"],
    apis={"JoinGroup": 0, "DescribeGroups": 0, "Heartbeat": 0},
    needs=["chosen-settings", "terminate", "restart"],
    detects=["B62"],
)
def who_waits_for_members_waits_no_longer(wire, group, nodes):
    """The first rebalance of a group, which waits longer with each new member, MUST be over when the rebalance timeout
    of its members is, however many still come (KIP-134), and MUST NOT be over before group.initial.rebalance.delay.ms.

    A member comes every 0.4 s; the delay is 1 s, the timeout 3 s.
    """
    nodes.start_with({DELAY: str(DELAY_MS)})
    await_leaders(wire)
    coordinator, began_ms, members = wire.coordinator(group), wire.now_ms(), list[Member]()
    while True:
        member = wire.member(group, f"m{len(members)}", rebalance_timeout_ms=TIMEOUT_MS, **OPAQUE)
        member.begin_join()
        members.append(member)
        wire.rest(EACH_S)
        described = wire.ask(request("DescribeGroups", groups=[group]), to=coordinator).must_succeed()
        waited_ms = wire.now_ms() - began_ms
        over = described.struct.groups[0].group_state != WAITS or _was_over(wire, group, member, coordinator)
        if over or waited_ms > LONGEST_MS:
            break
    said = f"the first of {len(members)} members waited {waited_ms} ms; its rebalance timeout is {TIMEOUT_MS} ms"
    described.must(waited_ms >= DELAY_MS, f"{said}, and the delay {DELAY_MS} ms", "groups[0].group_state")
    if waited_ms > TIMEOUT_MS + 1_000 * (EACH_S + wire.slack_s):
        wire.too_late(said)
    for joined in [member.joined for member in members if member.joined is not None]:
        joined.examined = True


def _was_over(wire, group, member, coordinator):
    """Whether it was over, and another began, between two questions: then the group is in a later generation."""
    asked = request("Heartbeat", group_id=group, generation_id=FIRST, member_id=member.id)
    answer = wire.ask(asked, to=coordinator)
    return answer.error == errors.ILLEGAL_GENERATION
