"""Members of a classic group that lose their connection while they wait, and ask again on another."""

from typing import Any

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance

SESSION_MS, REBALANCE_MS, ARRIVES_S = 60_000, 20_000, 1
"""The last: when a request that waits is certainly there, so that the next one is the later one."""


@case(
    "groups/asked-again-while-waiting",
    guarantees=["grp-006", "grp-007", "grp-013"],
    apis={"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3},
    detects=["B119", "B122"],
)
def the_latest_request_of_a_member_is_answered(wire, group, rng):
    """A member that asks again on another connection while its JoinGroup waits for the others, as clients do whose
    connection broke, MUST be answered there with the generation once that is complete; and likewise while its SyncGroup
    waits for the leader, with its assignment. All are in one generation, and stay in it.

    Two members, a static one among them, and one that comes new, twice. Of the members all but the last to join, and
    all but the leader, ask twice; their first connection is closed before that, after it, or not at all. In drawn
    versions.
    """
    static = {"instance_id": "i"}
    members = [Twice(wire, group, "a", rng), Twice(wire, group, "b", rng, **static)]
    rng.shuffle(members)
    rebalance(*[one.member for one in members], assignments=[b"a", b"b"])
    for turn in range(2):
        comes = Twice(wire, group, f"comes {turn}", rng)
        comes.member.reserve()
        *others, last = rng.sample(members, len(members))
        members.append(comes)
        comes.asks(comes.joins)
        last.member.await_rebalance()
        for one in others:
            one.asks(one.joins)
        _ask_again(wire, rng.sample([comes, *others], len(others) + 1))
        last.asks(last.joins)
        for one in members:
            one.member.finish_join().must_succeed()
        generations = {one.name: one.member.generation for one in members}
        wire.must(len(set(generations.values())) == 1, f"the generations are {generations}; they must be the same")
        _are_assigned(wire, members, rng)


def _are_assigned(wire, members, rng):
    """Each but the leader asks twice, and then the leader once."""
    leaders = [one for one in members if one.member.leads]
    wire.must(len(leaders) == 1, f"{len(leaders)} of the members are given themselves as the leader; it must be one")
    given = {one.member.id: f"to {one.name}".encode() for one in members}
    followers = [one for one in members if one not in leaders]
    for one in followers:
        one.asks(one.syncs)
    _ask_again(wire, rng.sample(followers, len(followers)))
    leaders[0].asks(lambda: leaders[0].syncs(given))
    for one in members:
        one.answer.must_bring(given[one.member.id])
        one.member.heartbeat().must_succeed()


def _ask_again(wire, members):
    wire.rest(ARRIVES_S)
    for one in members:
        one.asks_again()


class Twice:
    """A member whose requests may come on several connections."""

    def __init__(self, wire, group, name, rng, **how):
        self.wire, self.group, self.name, self.rng, self.connections = wire, group, name, rng, 1
        times = {"session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": REBALANCE_MS}
        wishes = [("p", name.encode())]
        times["version"] = self._drawn("JoinGroup", 5)
        self.member = wire.member(group, name, protocol_type="opaque", protocols=wishes, **times, **how)
        self.answer: Any = None
        self.request: Any = None

    def joins(self):
        self.member.begin_join()
        return self.member.joined

    def syncs(self, given=None):
        """In any version: a plain step of others it is none."""
        one = self.member
        kind = {"protocol_type": "opaque", "protocol": "p", "instance_id": one.settings.get("instance_id")}
        how = {"version": self._drawn("SyncGroup", 3), "via": one.name, "wait": False}
        return self.wire.sync_group(self.group, one.generation, one.id, given, **kind, **how)

    def asks(self, request):
        self.request, self.answer = request, request()

    def asks_again(self):
        """On a new connection; what comes on the one of before is not read."""
        self.answer.examined = True
        before = self.wire.connect(self.member.name, self.wire.coordinator(self.group))
        closed = self.rng.choice(("first", "then", "never"))
        if closed == "first":
            before.close()
        self.connections += 1
        self.member.name = f"{self.name}, connection {self.connections}"
        self.asks(self.request)
        if closed == "then":
            before.close()

    def _drawn(self, api, least):
        return self.rng.choice([each for each in self.wire.versions(api) if each >= least])
