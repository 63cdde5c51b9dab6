"""How long members are waited for, and how long they may be silent, in each stage of a rebalance and after it."""

from typing import Any

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._living import EARLY, LATE_S, LONG_MS, session_of
from brokertrial.suites.probe import join_together, rebalance
from brokertrial.wire import errors

APIS = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "DescribeGroups": 0, "OffsetCommit": 2}
CALLED = errors.REBALANCE_IN_PROGRESS


class Stage:
    """A group of `leads`, whose session is long, and `asks`, whose session is short; `third` may come."""

    def __init__(self, wire, topic, number, session_ms, what):
        self.wire, self.session_ms, self.group, self.number = wire, session_ms, wire.name("g"), number
        self.topic, self.what = topic, what.replace("_", " ")
        self.leads, self.asks, self.third = (self.member(name) for name in ("leads", "asks", "third"))
        self.asks.settings["session_timeout_ms"] = session_ms
        self.heard_ms = wire.now_ms()
        """Before its last sign of life was sent."""

    def member(self, name, **more):
        long: dict[str, Any] = {"session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS}
        return self.wire.member(self.group, f"{name}{self.number}", **{**long, **more})

    def begins(self):
        self.heard_ms = self.wire.now_ms()
        rebalance(self.leads, self.asks)

    def all_wait(self, timeout_ms):
        """All allow so long for a rebalance, and have long sessions."""
        for member in (self.leads, self.asks, self.third):
            member.settings.update(session_timeout_ms=LONG_MS, rebalance_timeout_ms=timeout_ms)

    def third_comes(self, *ready):
        """The group rebalances; these join again at once."""
        self.third.begin_join()
        for member in ready:
            member.await_rebalance()
            member.begin_join()

    def all_join(self):
        """The leader calls for a generation of both, and does not bring the assignments yet."""
        self.heard_ms = self.wire.now_ms()
        self.leads.begin_join()
        self.asks.await_rebalance()
        self.asks.begin_join()
        for member in (self.leads, self.asks):
            member.finish_join().must_succeed()

    def goes_on(self, ask=None, error=errors.NONE):
        """For twice the session `asks` does no more than that."""
        began_ms = self.wire.now_ms()
        while self.wire.now_ms() < began_ms + 2 * self.session_ms:
            if ask is not None:
                self.gives(ask, error)
            yield

    def gives(self, ask, error):
        """A sign of life, in time for the one before: else it proves nothing."""
        before_ms = self.wire.now_ms()
        answer = ask()
        pause_ms = self.wire.now_ms() - self.heard_ms
        if pause_ms > self.session_ms * EARLY:
            answer.examined = True
            self.wire.unclear(f"{pause_ms} ms went by between two signs of one member")
        self.heard_ms = before_ms
        answer.must(answer.error == error, f"it is answered {answer.error}; it must be {error}", "error_code")

    def completes(self, last, *others):
        """The last that was awaited joins again: all sessions begin anew, and not with a SyncGroup that comes late."""
        self.heard_ms = self.wire.now_ms()
        last.begin_join()
        self.are_all_in(last, *others)

    def are_all_in(self, *members):
        """The generation of these, of whom each gets what it is given."""
        for member in members:
            member.finish_join().must_succeed()
        leader = next((member for member in members if member.leads), members[0])
        found, wanted = set(leader.joined.members), {member.id for member in members}
        leader.joined.must(found == wanted, f"of {len(wanted)} members {len(found)} are listed", "members")
        given = {member.id: member.name.encode() for member in members}
        synced = [member.sync(given if member is leader else None, wait=False) for member in members]
        for member, answer in zip(members, synced, strict=True):
            answer.must_bring(member.name.encode())

    def goes(self, silent=None):
        """A member that is silent now is expelled when its session is over, and not before."""
        member, until_ms = silent or self.asks, self.heard_ms + self.session_ms + self.late_ms()
        while member.id in self.members():
            if self.wire.now_ms() > until_ms:
                silent_ms = self.wire.now_ms() - self.heard_ms
                self.wire.too_late(
                    f"who {self.what} is silent for {silent_ms} ms of {self.session_ms}, and not expelled"
                )
            yield
        self.not_early()

    def not_early(self):
        silent_ms = self.wire.now_ms() - self.heard_ms
        late = silent_ms >= self.session_ms * EARLY
        self.wire.must(late, f"who {self.what} is expelled after {silent_ms} ms of {self.session_ms}", self.described)

    def late_ms(self):
        return (LATE_S + self.wire.slack_s) * 1000

    def members(self):
        self.described = self.wire.describe_group(self.group).must_succeed()
        return [row.member_id for row in self.described.struct.groups[0].members]


# -- while others are awaited to join again


def beats_in_the_join(one):
    one.begins()
    one.third_comes(one.leads)
    yield from one.goes_on(one.asks.heartbeat, CALLED)
    one.completes(one.asks, one.leads, one.third)
    yield from one.goes()


def commits_in_the_join(one):
    one.begins()
    one.third_comes(one.leads)
    yield from one.goes_on(lambda: one.asks.commit(one.topic, offset=5))
    one.completes(one.asks, one.leads, one.third)
    yield from one.goes()


def silent_in_the_join(one):
    one.begins()
    one.third_comes(one.leads)
    yield from one.goes()
    one.are_all_in(one.leads, one.third)


def waits_in_the_join(one):
    """Who has joined again waits for the others: it need give no signs of life."""
    one.begins()
    one.third_comes(one.asks)
    yield from one.goes_on()
    one.completes(one.leads, one.asks, one.third)
    yield from one.goes()


def new_in_the_join(one):
    """Nor need who is new."""
    rebalance(one.leads)
    one.asks.begin_join()
    yield from one.goes_on()
    one.completes(one.leads, one.asks)
    yield from one.goes()


# -- while the leader is awaited to bring the assignments


def beats_before_the_sync(one):
    one.begins()
    one.all_join()
    yield from one.goes_on(one.asks.heartbeat)
    one.are_all_in(one.leads, one.asks)
    yield from one.goes()


def silent_before_the_sync(one):
    one.begins()
    one.all_join()
    yield from one.goes()
    one.leads.heartbeat().must_be_refused(CALLED)


def waits_before_the_sync(one):
    one.begins()
    one.all_join()
    waiting = one.asks.sync(wait=False)
    yield from one.goes_on()
    one.heard_ms = one.wire.now_ms()
    one.leads.sync({one.asks.id: b"given"}).must_succeed()
    waiting.must_bring(b"given")
    yield from one.goes()


# -- with another session than before


def joins_with_a_shorter_session(one):
    one.asks.settings["session_timeout_ms"] = LONG_MS
    one.begins()
    one.asks.settings["session_timeout_ms"] = one.session_ms
    one.all_join()
    one.are_all_in(one.leads, one.asks)
    yield from one.goes()


def joins_with_a_longer_session(one):
    one.begins()
    one.asks.settings["session_timeout_ms"] = LONG_MS
    one.all_join()
    one.are_all_in(one.leads, one.asks)
    yield from one.goes_on()
    one.asks.heartbeat().must_succeed()


def returns_with_a_shorter_session(one):
    """A static member; in force with its first heartbeat, for Kafka counts the session before by the old timeout."""
    one.asks.settings.update(session_timeout_ms=LONG_MS, instance_id=f"i{one.number}")
    one.begins()
    again = one.member("again", session_timeout_ms=one.session_ms, instance_id=f"i{one.number}")
    again.join().must_succeed()
    one.heard_ms = one.wire.now_ms()
    again.heartbeat().must_succeed()
    yield from one.goes(again)


def returns_and_is_silent(one):
    one.asks.settings["instance_id"] = f"i{one.number}"
    one.begins()
    one.heard_ms = one.wire.now_ms()
    again = one.member("again", session_timeout_ms=one.session_ms, instance_id=f"i{one.number}")
    again.join().must_succeed()
    yield from one.goes(again)


# -- who is not back in time


def mute_in_a_stable_generation(one):
    """Who never asks for what it is given is left behind when the rebalance timeout is over."""
    one.all_wait(one.session_ms)
    one.heard_ms = one.wire.now_ms()
    join_together(one.leads, one.asks)
    one.leads.sync({}).must_succeed()
    yield from one.goes()
    one.leads.heartbeat().must_be_refused(CALLED)


def static_leader_that_is_not_back(one):
    """It stays a member, and another leads (KIP-345)."""
    one.all_wait(one.session_ms)
    one.leads.settings["instance_id"] = f"l{one.number}"
    one.begins()
    one.third_comes(one.asks)
    until_ms = one.wire.now_ms() + one.session_ms + one.late_ms()
    while one.members() and one.described.struct.groups[0].group_state == "PreparingRebalance":
        if one.wire.now_ms() > until_ms:
            one.wire.too_late("a rebalance goes on, though its timeout is over")
        yield
    joined = [member.finish_join().must_succeed() for member in (one.asks, one.third)]
    leads = [member for member in (one.asks, one.third) if member.leads]
    one.wire.must(len(leads) == 1, f"{len(leads)} of the two that joined lead", *joined)
    found, wanted = set(leads[0].joined.members), {one.leads.id, one.asks.id, one.third.id}
    leads[0].joined.must(found == wanted, f"the leader gets {len(found)} members; it must be three", "members")


STAGES = (
    *(beats_in_the_join, commits_in_the_join, silent_in_the_join, waits_in_the_join, new_in_the_join),
    *(beats_before_the_sync, silent_before_the_sync, waits_before_the_sync),
    *(joins_with_a_shorter_session, joins_with_a_longer_session),
    *(returns_with_a_shorter_session, returns_and_is_silent),
    *(mute_in_a_stable_generation, static_leader_that_is_not_back),
)


@case(
    "groups/sessions-in-a-rebalance",
    guarantees=["grp-011", "grp-013", "grp-015"],
    apis=APIS,
    detects=["D05", "D06", "D07", "D13"],
)
def a_session_is_judged_in_each_stage(wire, topic, rng):
    """A member that sends heartbeats or commits MUST stay in a group that rebalances, as long as others are awaited to
    join again, and as long as the leader's assignments are awaited; one that waits for an answer itself MUST stay
    without. A silent one MUST be expelled when its session is over, and not before, in each of these stages and after
    them; the session is that of its last JoinGroup, also of a static member that returned. A member that never asks for
    its assignment MUST be dropped when the rebalance timeout is over, and a static leader that is not back by then MUST
    stay a member, and another leads.

    One group for each stage, all at a time.
    """
    session_ms = session_of(wire)
    waiting = [
        stage(Stage(wire, topic, number, session_ms, stage.__name__))
        for number, stage in enumerate(rng.sample(STAGES, len(STAGES)))
    ]
    under_way = []

    def all_over():
        if waiting:
            under_way.append(waiting.pop())
        for stage in list(under_way):
            try:
                next(stage)
            except StopIteration:
                under_way.remove(stage)
        return not waiting and not under_way

    wire.until(all_over, within=6 * session_ms / 1000 + 2 * LATE_S, what="all stages are over")
