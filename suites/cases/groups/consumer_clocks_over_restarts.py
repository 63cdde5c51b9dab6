"""Timeouts of KIP-848 members whose coordinator goes down: they begin anew then, each as long as before."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._clocks import APIS, LONG_MS, NEVER
from brokertrial.suites.cases.groups._clocks import MemberClock as Clock
from brokertrial.wire import errors

SESSION_MS, SHORT_MS = 8_000, 5_000
SLOWEST_S = 40
"""What a node may take to come back, and groups to come back to it."""


@case(
    "groups/consumer-clocks-over-restarts",
    guarantees=["g848-011", "g848-012", "g848-006"],
    since="4.0 (KIP-848)",
    apis=APIS,
    features={"group.version": 1},
    needs=["partitions", "kill", "restart"],
    detects=["U28", "U29"],
)
def clocks_begin_anew_and_are_as_long_as_before(wire, topic_of, nodes):
    """After its coordinator crashed a member MUST be expelled when it has been silent for its session since then, also
    one that sent nothing after it joined, or that is away (-2), and not before; and when it holds on to what it must
    give up for the rebalance timeout that it sent last. Who heartbeats and is given more time stays.
    """
    node = wire.coordinator(wire.name("first"))

    def clock(what, session_ms=LONG_MS // 2):
        return Clock(wire, topic_of, what, session_ms, node=node)

    short, long = clock("one that sent a shorter timeout and holds on"), clock("one that sent a longer one")
    for one, then_ms, now_ms in ((short, LONG_MS, SHORT_MS), (long, SHORT_MS, LONG_MS)):
        member = one.is_alone(then_ms)
        member.beat(rebalance_timeout_ms=now_ms).must_succeed()
        one.holds_on(member, NEVER if one is long else SHORT_MS)
    silent, away = clock("one that came and is silent", SESSION_MS), clock("one that is away", SESSION_MS)
    static = away.is_alone(instance=wire.name("i"))
    static.leave(-2).must_have("member_epoch", -2)
    came = silent.comes(silent.member())
    all_ = [short, long, silent, away]
    for one, goes in ((silent, came), (away, static)):
        one.beats = []
        one.runs(goes, SESSION_MS)
    short.must_be_in_time(short.since_ms, SHORT_MS)
    for one in all_:
        one.since_ms = wire.now_ms()
    nodes.crash(node)

    def all_gone():
        for one in all_:
            one.turn()
        return short.gone and silent.gone and away.gone

    wire.until(all_gone, within=SESSION_MS / 1000 + SLOWEST_S, what="those are expelled whose time is over")
    for one in (silent, away):
        one.who.beat(epoch=1).must_be_refused(errors.UNKNOWN_MEMBER_ID)
