"""Members of a classic group that are gone: the generation that goes on without them hears no more of them."""

from collections.abc import Callable
from typing import Any

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._living import LATE_S, LONG_MS, session_of
from brokertrial.suites.probe import join_together, rebalance

REBALANCE_MS, LEAST_SESSION_MS = 2_500, 6_000


class Outlived:
    """A group of `stays`, whose session is long, and of `goes`, whose session is still to end when it is gone."""

    def __init__(self, wire, session_ms, what):
        self.wire, self.group, self.what = wire, wire.name("g"), what
        self.stays, self.other = (self._member(name, LONG_MS) for name in ("stays", "other"))
        self.goes = self._member("goes", session_ms)
        self.here = [self.stays]

    def _member(self, name, session_ms, **more):
        timeouts: dict[str, Any] = {"session_timeout_ms": session_ms, "rebalance_timeout_ms": REBALANCE_MS}
        return self.wire.member(self.group, f"{name} {self.group}", **timeouts, **more)

    def other_comes(self):
        """The group rebalances, and who stays joins again at once."""
        self.other.begin_join()
        self.stays.await_rebalance()
        self.stays.begin_join()
        self.here = [self.stays, self.other]

    def goes_on(self):
        """Those who are here have a generation of their own."""
        for member in self.here:
            member.finish_join().must_succeed()
        self._are_given()

    def begins_again(self):
        """Who stays is called, and joins alone."""
        self.stays.await_rebalance()
        self.stays.begin_join()
        self.goes_on()

    def _are_given(self):
        leader = next((member for member in self.here if member.leads), self.stays)
        given = {member.id: member.name.encode() for member in self.here}
        synced = [member.sync(given if member is leader else None, wait=False) for member in self.here]
        for member, answer in zip(self.here, synced, strict=True):
            answer.must_bring(member.name.encode())

    def must_be_quiet(self):
        for member in self.here:
            answer = member.heartbeat()
            sentence = f"once a member {self.what}, a heartbeat of another is answered {answer.error}"
            answer.must(not answer.error, sentence, "error_code")


def does_not_come(one):
    rebalance(one.stays, one.goes)
    one.other_comes()
    one.goes_on()


def leaves_while_it_is_awaited(one):
    rebalance(one.stays, one.goes)
    one.other_comes()
    one.goes.leave().must_succeed()
    one.goes_on()


def leaves_while_it_waits(one):
    """It has joined again, and another is awaited."""
    rebalance(one.stays, one.goes)
    one.other.begin_join()
    one.goes.await_rebalance()
    one.goes.begin_join()
    one.wire.leave_group(one.group, one.goes.id).must_succeed()
    one.goes.joined.examined = True
    one.stays.begin_join()
    one.here = [one.stays, one.other]
    one.goes_on()


def leaves_a_stable_generation(one):
    rebalance(one.stays, one.goes)
    one.goes.leave().must_succeed()
    one.begins_again()


def leaves_before_the_assignments(one):
    join_together(one.stays, one.goes)
    one.goes.leave().must_succeed()
    one.begins_again()


def never_syncs(one):
    join_together(one.stays, one.goes)
    waiting = one.stays.sync({one.stays.id: b"", one.goes.id: b""}, wait=False)
    waiting.examined = True
    one.begins_again()


def takes_an_id_alone(one):
    rebalance(one.stays)
    if max(one.wire.versions("JoinGroup")) >= 4:
        one.goes.reserve()


def returns_as_another(one):
    """A static member whose session was short, and is long when it returns."""
    if max(one.wire.versions("JoinGroup")) < 5:
        rebalance(one.stays)
        return
    one.goes.settings["instance_id"] = one.goes.name
    rebalance(one.stays, one.goes)
    one.goes.id, one.goes.settings["session_timeout_ms"] = "", LONG_MS
    one.goes.join().must_succeed()
    one.goes.sync().must_succeed()
    one.goes.heartbeat().must_succeed()  # Kafka lets the former timeout run until then
    one.here = [one.stays, one.goes]


WAYS: tuple[Callable[[Outlived], None], ...] = (
    *(does_not_come, leaves_while_it_is_awaited, leaves_while_it_waits),
    *(leaves_a_stable_generation, leaves_before_the_assignments),
    *(never_syncs, takes_an_id_alone, returns_as_another),
)


@case(
    "groups/quiet-once-members-are-gone",
    guarantees=["grp-013", "grp-010", "grp-014", "grp-015"],
    apis={"JoinGroup": 1, "SyncGroup": 0, "Heartbeat": 0, "LeaveGroup": 0},
    detects=["B252"],
)
def a_session_of_who_is_gone_is_over(wire, rng):
    """Once members of a group have a generation without a former one, they MUST NOT be called to another rebalance by
    the end of its session: heartbeats of each that is in it are accepted, however the former one went. It left, it did
    not join again in time, it never asked for its assignment, it was given an id and did not come, or it is a static
    member that returned.

    One group for each way, all at a time, until all those sessions would have ended.
    """
    session_ms = max(session_of(wire), LEAST_SESSION_MS)
    groups = []
    for way in rng.sample(WAYS, len(WAYS)):
        one = Outlived(wire, session_ms, way.__name__.replace("_", " "))
        with wire.part(one.what):
            way(one)
            groups.append(one)
    until_ms = wire.now_ms() + session_ms + LATE_S * 1_000

    def all_over():
        for one in groups:
            one.must_be_quiet()
        return wire.now_ms() > until_ms

    wire.until(all_over, within=2 * session_ms / 1_000 + LATE_S, what="all sessions of who is gone would be over")
