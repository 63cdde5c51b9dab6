"""Groups with a member whose session is short, which asks in one way alone for longer than that: is it in it still?"""

from typing import Any

from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors

LEAST, SLOWEST_MS = "group.min.session.timeout.ms", 6_000
LONG_MS, LATE_S = 300_000, 6
EARLY = 0.9
"""Of a session: who was silent for less than that is in it for certain."""


def session_of(wire):
    """The shortest session that is long enough to be kept alive in, where the cluster allows one."""
    wire.needs_setting(LEAST, at_most=SLOWEST_MS)
    return max(3_000, int(wire.setting(LEAST) or SLOWEST_MS))


class Living:
    """A group that one member leads, whose session is long, and in which another has one way to ask."""

    def __init__(self, wire, number, session_ms, what, ask, *wanted, lives, static=False):
        self.wire, self.session_ms, self.what, self.lives = wire, session_ms, what, lives
        self.group, self.ask, self.wanted = wire.name("g"), ask, wanted
        self.leads, self.asks = (self._member(f"{name}{number}", static) for name in ("leads", "asks"))
        self.asks.settings["session_timeout_ms"] = session_ms
        rebalance(self.leads, self.asks)
        self.heard_ms, self.gone = wire.now_ms(), False

    def _member(self, name, static):
        more = {"instance_id": name} if static else {}
        long: dict[str, Any] = {"session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS}
        return self.wire.member(self.group, name, **long, **more)

    @property
    def generation(self):
        return self.asks.generation

    def beat(self):
        """A sign that there is no doubt about."""
        self.gives(lambda one: one.asks.heartbeat(), errors.NONE)

    def gives(self, ask, *wanted):
        """A sign of life, in time for the one before: else it proves nothing."""
        before_ms = self.wire.now_ms()
        answer = ask(self)
        pause_ms = self.wire.now_ms() - self.heard_ms
        if pause_ms > self.session_ms * EARLY:
            answer.examined = True
            self.wire.unclear(f"{pause_ms} ms went by between two signs of one member")
        self.heard_ms = before_ms
        _must_be_one(answer, wanted)

    def turn(self):
        """It asks in its way, and is looked at: whether it is expelled."""
        if self.lives:
            self.gives(self.ask, *self.wanted)
        elif not self.gone:
            _must_be_one(self.ask(self), (*self.wanted, errors.UNKNOWN_MEMBER_ID, errors.REBALANCE_IN_PROGRESS))
        return self.look()

    def look(self):
        """Whether it is expelled: a member that keeps alive never, and another when its session is over."""
        if self.gone:
            return True
        answer = self.wire.describe_group(self.group).must_succeed()
        self.gone = self.asks.id not in [row.member_id for row in answer.struct.groups[0].members]
        silent_ms = self.wire.now_ms() - self.heard_ms
        early = self.gone and (self.lives or silent_ms < self.session_ms * EARLY)
        answer.must(not early, f"{self.what}: after {silent_ms} ms of {self.session_ms} it is expelled", "groups[0]")
        return self.gone

    def must_go(self):
        """It is expelled when its session is over, though it goes on to ask."""
        left_s = max(0, self.session_ms - (self.wire.now_ms() - self.heard_ms)) / 1000
        self.wire.until(self.turn, within=left_s + LATE_S, what=f"the member is expelled that sends {self.what} alone")
        self.asks.heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)


def _must_be_one(answer, wanted):
    if errors.NONE not in wanted:
        answer.must_be_refused(*wanted)
    else:
        answer.must(
            answer.error in wanted, f"the error code is {answer.error}; it must be one of {wanted}", "error_code"
        )


def live_through(wire, kinds, rng):
    """A group for each kind: what it is, how it is asked, what is answered, whether it keeps alive. All ask, in a drawn
    order, for twice the session."""
    session_ms = session_of(wire)
    all_: list[Living] = []
    for what, ask, wanted, how in kinds:
        all_.append(Living(wire, len(all_), session_ms, what, ask, wanted, **how))
        for one in all_:
            one.beat()
    began_ms = wire.now_ms()

    def long_enough():
        for one in rng.sample(all_, len(all_)):
            one.turn()
        return wire.now_ms() > began_ms + 2 * session_ms

    wire.until(long_enough, within=4 * session_ms / 1000, what="twice the session has passed")
    for one in all_:
        if one.lives:
            one.beat()
    for one in all_:
        if not one.lives:
            one.must_go()
