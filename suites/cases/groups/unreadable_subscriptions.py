"""Classic groups of consumers of which one brings a subscription that nobody can read (KAFKA-20570)."""

import struct

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors

TIMEOUT_MS, DRAWN, LONGEST = 10_000, 3, 60
READABLE = struct.pack(">hii", 0, 0, -1)
"""Version 0 of ConsumerProtocolSubscription: no topics, no user data."""
BYTES = {
    "it ends in its version": b"\0",
    "a list of -2 topics": struct.pack(">hi", 0, -2) + bytes(32),
    "a list of 1,651,210,861 topics": struct.pack(">hi", 0, 1_651_210_861) + bytes(32),
    "a name longer than what is left": struct.pack(">hih", 0, 1, 300) + bytes(32),
    "user data longer than what is left": struct.pack(">hii", 0, 0, 2**31 - 1),
}
REFUSED = (errors.INCONSISTENT_GROUP_PROTOCOL, errors.INVALID_REQUEST, errors.INVALID_GROUP_ID)


@case(
    "groups/unreadable-subscriptions",
    guarantees=["err-001", "err-004", "err-003", "grp-008"],
    apis={"JoinGroup": 1, "SyncGroup": 0, "Heartbeat": 0, "LeaveGroup": 0, "DescribeGroups": 0},
    detects=["B310"],
)
def nobody_else_is_harmed(wire, rng):
    """JoinGroup of a consumer whose subscription cannot be read MUST be taken or refused for that (23, 42), and MUST
    NOT stay without an answer; the others of its group, and those that come once it is gone, MUST be served.

    Lists and names that are longer than what is left, and drawn bytes, each in a group of its own.
    """
    drawn = {f"drawn bytes {n}": rng.randbytes(rng.randint(2, LONGEST)) for n in range(DRAWN)}
    for what, data in rng.sample(list((BYTES | drawn).items()), len(BYTES) + DRAWN):
        with wire.part(what):
            _one_group(wire, wire.name("g"), data)


def _one_group(wire, group, data):
    odd, other = (_member(wire, group, name, brings) for name, brings in (("odd", data), ("other", READABLE)))
    odd.begin_join()
    if _is_taken(odd):
        odd.sync({odd.id: b""}).must_succeed()
        other.begin_join()
        odd.await_rebalance()
        odd.begin_join()
        _is_taken(odd)
        other.finish_join().must_succeed()
        wire.describe_group(group).must_succeed()
        for member in (odd, other):
            member.leave().must_succeed()
    rebalance(_member(wire, group, "later", READABLE))


def _is_taken(odd):
    odd.finish_join()
    answer = odd.joined
    answer.examined = True
    code = answer.error
    answer.must(code in (errors.NONE, *REFUSED), f"it is answered {errors.name(code)}", "error_code")
    return not code


def _member(wire, group, name, brings):
    times = {"session_timeout_ms": TIMEOUT_MS, "rebalance_timeout_ms": TIMEOUT_MS}
    return wire.member(group, f"{group} {name}", protocols=[("range", brings)], **times)
