"""Clocks of KIP-848 members: a session from the first heartbeat on, and the rebalance timeout that was sent last."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._clocks import APIS, LONG_MS, NEVER
from brokertrial.suites.cases.groups._clocks import MemberClock as Clock

SESSION_MS, SHORT_MS = 3_000, 2_000


def comes_and_is_silent(wire, topic_of):
    one = Clock(wire, topic_of, "one that came beside another and is silent", SESSION_MS)
    one.is_alone()
    one.runs(None, SESSION_MS)
    one.who = one.comes(one.member())
    return one


def comes_alone_and_is_silent(wire, topic_of):
    one = Clock(wire, topic_of, "one that came alone and is silent", SESSION_MS)
    one.runs(None, SESSION_MS)
    one.who = one.comes(one.member(instance=wire.name("i")))
    return one


def is_replaced_and_silent(wire, topic_of):
    one = Clock(wire, topic_of, "one that came back and is silent", SESSION_MS)
    static = one.is_alone(instance=wire.name("i"))
    one.beats = []
    static.leave(-2).must_have("member_epoch", -2)
    one.runs(None, SESSION_MS)
    one.who = one.comes(one.member(instance=static._instance_id))
    return one


def sends_a_shorter_timeout(wire, topic_of):
    one = Clock(wire, topic_of, "one that sent a shorter timeout and holds on")
    member = one.is_alone(LONG_MS)
    member.beat(rebalance_timeout_ms=SHORT_MS).must_succeed()
    one.holds_on(member, SHORT_MS)
    return one


def sends_a_longer_timeout(wire, topic_of):
    one = Clock(wire, topic_of, "one that sent a longer timeout and holds on")
    member = one.is_alone(SHORT_MS)
    member.beat(rebalance_timeout_ms=LONG_MS).must_succeed()
    one.holds_on(member, NEVER)
    return one


def holds_on_and_is_replaced(wire, topic_of):
    """Its successor has nothing to give up."""
    one = Clock(wire, topic_of, "one that came back as another held on")
    member = one.is_alone(SHORT_MS, wire.name("i"))
    one.holds_on(member, NEVER)
    one.must_be_in_time(one.since_ms, SHORT_MS)
    member.leave(-2).must_have("member_epoch", -2)
    one.beats.remove(member)
    one.who = one.comes(one.member(SHORT_MS, member._instance_id))
    one.beats.append(one.who)
    return one


def gives_back_in_time(wire, topic_of):
    one = Clock(wire, topic_of, "one that gave back in time")
    member = one.is_alone(SHORT_MS)
    one.holds_on(member, NEVER)
    one.must_be_in_time(one.since_ms, SHORT_MS)
    member.held = frozenset()
    member.beat().must_succeed()
    return one


KINDS = (
    comes_and_is_silent, comes_alone_and_is_silent, is_replaced_and_silent, sends_a_shorter_timeout,
    sends_a_longer_timeout, holds_on_and_is_replaced, gives_back_in_time,
)  # fmt: skip


@case(
    "groups/consumer-clocks",
    guarantees=["g848-012", "g848-006"],
    since="4.0 (KIP-848)",
    apis=APIS,
    features={"group.version": 1},
    needs=["partitions"],
    detects=["U25", "U26"],
)
def each_clock_runs_from_what_was_sent_last(wire, topic_of, rng):
    """A member MUST be expelled when it has been silent for its session since its last heartbeat, also one that sent
    only the first, came back as a static member, or is alone; and when it holds partitions that it must revoke for the
    rebalance timeout that it sent last. It MUST NOT be expelled before: neither when an earlier timeout is over, nor
    when it has revoked, nor when it is the successor of a member that did not.
    """
    all_: list[Clock] = []
    for kind in rng.sample(KINDS, len(KINDS)):
        all_.append(kind(wire, topic_of))
        for one in all_:
            one.turn()
    began_ms = wire.now_ms()

    def long_enough():
        for one in all_:
            one.turn()
        return wire.now_ms() > began_ms + SESSION_MS + SHORT_MS

    wire.until(long_enough, within=30, what="all clocks have run down that must")
    for one in all_:
        one.must_end()
