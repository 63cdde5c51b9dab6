"""Members of a classic group that join, leave, commit and ask at one moment, each on its own connection."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe.at_once import once
from brokertrial.suites.probe.classic_member import Member
from brokertrial.wire import errors

TURNS, LEAST, MOST, LONG_MS = 14, 3, 8, 120_000
OPAQUE = "opaque"
"""Of a kind that no broker reads."""
CLASSIC = {"JoinGroup": 4, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3, "OffsetCommit": 2}
QUIET = ("beats", "commits", "syncs", "is silent")
MAY_BE = (errors.NONE, errors.REBALANCE_IN_PROGRESS)


@case(
    "groups/whatever-at-one-moment",
    guarantees=["grp-006", "grp-007", "grp-009", "grp-010", "cmt-011"],
    apis=CLASSIC,
    detects=["M27"],
)
def a_moment_leads_to_one_generation(wire, topic, group, rng):
    """Where members join with other metadata, leave, commit, ask for their assignments and send heartbeats at one
    moment, and others come, the next generation MUST be one above the one before, and MUST have all that joined and
    none that left; its leader MUST be told what each brought, and each MUST be brought its own assignment, also where
    all ask for it at one moment.

    14 moments, up to eight members, of which one at least does not join, so that the generation awaits it. Every third
    moment, by draw, comes before the leader of a generation has brought the assignments.
    """
    moving = Moving(wire, topic, group, rng)
    for turn in range(TURNS):
        if stable := rng.random() < 0.7:
            _must_be_brought_their_own(wire, moving.members, rng)
        before = moving.members[0].generation
        acts = moving.drawn(stable)
        moving.all_at_once(acts, turn)
        if moving.rejoined(acts):
            leads_on = moving.members[0]
            wire.must(
                leads_on.generation == before + 1,
                f"the generation behind {before} is {leads_on.generation}; it must be {before + 1}",
                leads_on.joined,
            )


class Moving:
    """The members of a group, and what they do next."""

    def __init__(self, wire, topic, group, rng):
        self.wire, self.topic, self.group, self.rng = wire, topic, group, rng
        self.made, self.members = 0, list[Member]()
        self.members = [self._made() for _ in range(LEAST)]
        first, *others = self.members
        first.join().must_succeed()
        for member in others:
            member.begin_join()
        first.await_rebalance()
        first.begin_join()
        _must_be_one_generation(self.members)

    def drawn(self, stable):
        """What each member does at the next moment, and who comes; one at least neither joins nor leaves."""
        silent, *rest = self.rng.sample(self.members, len(self.members))
        acts = {member: self.rng.choice((*QUIET, "joins", "joins")) for member in rest}
        most = max(0, len(self.members) - LEAST)
        acts |= dict.fromkeys(rest[: min(most, self.rng.randint(0, len(rest)))], "leaves")
        acts[silent] = self.rng.choice(QUIET)
        if not stable:  # whoever asks for an assignment then waits for somebody to join
            acts |= {member: "syncs" for member, act in acts.items() if act == "is silent"}
            acts[rest[-1]] = "joins"
            acts |= {member: "beats" for member, act in acts.items() if member.leads and act == "syncs"}
        while len(acts) < MOST and self.rng.random() < 0.4:
            new = self._made()
            new.reserve()
            acts[new] = "joins"
        return acts

    def all_at_once(self, acts, turn):
        """In a drawn order."""
        asking = [each for each in self.rng.sample(list(acts), len(acts)) if acts[each] != "is silent"]
        answers = once(self.wire, [self._how(member, acts[member], turn) for member in asking])
        for member, answer in zip(asking, answers, strict=True):
            _looked_at(member, acts[member], answer)

    def rejoined(self, acts):
        """Whether there is a next generation: whoever has not joined is called, and does."""
        self.members = [member for member, act in acts.items() if act != "leaves"]
        if not {"joins", "leaves"}.intersection(acts.values()):
            return False
        for member in self.members:
            if acts[member] != "joins":
                member.await_rebalance().examined = True
                member.begin_join()
        _must_be_one_generation(self.members)
        return True

    def _made(self):
        self.made += 1
        return self.wire.member(
            self.group,
            f"{self.group} {self.made}",
            session_timeout_ms=LONG_MS,
            rebalance_timeout_ms=LONG_MS,
            protocol_type=OPAQUE,
            protocols=[("range", b"of %d" % self.made)],
        )

    def _how(self, member, act, turn):
        """To ask for it."""
        wire, of = self.wire, (member.group, member.generation, member.id)
        if act == "joins":
            member.settings["protocols"] = [("range", b"%s in %d" % (member.name.encode(), turn))]
            return partial(wire.join_group, member.group, member_id=member.id, via=member.name, **member.settings)
        if act == "leaves":
            return partial(wire.leave_group, member.group, member.id, via=member.name)
        if act == "beats":
            return partial(wire.heartbeat, *of, via=member.name)
        if act == "syncs":
            return partial(wire.sync_group, *of, protocol_type=OPAQUE, via=member.name)
        how = {"offset": turn, "generation": member.generation, "member_id": member.id, "via": member.name}
        return partial(wire.commit, member.group, self.topic, **how)


def _looked_at(member, act, answer):
    """A join is answered with the others of its generation; whoever goes, is answered at once."""
    if act == "joins":
        member.joined = answer
        return
    answer.examined = True
    code = answer.error
    answer.must(code in MAY_BE, f"a member that {act} is answered {errors.name(code)}", "error_code")


def _must_be_one_generation(members):
    """All have joined: they are of one generation, and its leader is told what each has brought."""
    for member in members:
        member.finish_join().must_succeed()
    leader = next(member for member in members if member.leads)
    told = {member_id: bytes(brought) for member_id, brought in leader.joined.members.items()}
    due = {member.id: dict(member.settings["protocols"])["range"] for member in members}
    leader.joined.must(told == due, _unlike(told, due), "members")
    generations = sorted({member.generation for member in members})
    leader.joined.must(len(generations) == 1, f"the members are in the generations {generations}", "generation_id")


def _unlike(found, due):
    """What of the members of a generation is not as it must be."""
    if found.keys() != due.keys():
        return f"the leader is sent {len(found)} members; it must be sent the {len(due)} that joined"
    return (
        f"the metadata of {sum(found[each] != due[each] for each in due)} of {len(due)} members is not what they sent"
    )


def _must_be_brought_their_own(wire, members, rng):
    """All of them at one moment."""
    leader = next(member for member in members if member.leads)
    given = {member.id: b"for %s" % member.id.encode() for member in members}
    order = rng.sample(members, len(members))
    asks = [
        partial(
            wire.sync_group,
            member.group,
            member.generation,
            member.id,
            given if member is leader else None,
            protocol_type=OPAQUE,
            via=member.name,
        )
        for member in order
    ]
    for member, answer in zip(order, once(wire, asks), strict=True):
        answer.must_bring(given[member.id])
