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
    made, members = 0, []
    for _ in range(LEAST):
        made += 1
        members.append(_member(wire, group, made))
    first, *others = members
    first.join().must_succeed()
    for member in others:
        member.begin_join()
    first.await_rebalance()
    first.begin_join()
    _generation(members)
    for turn in range(TURNS):
        if stable := rng.random() < 0.7:
            _must_be_brought_their_own(wire, members, rng)
        before = members[0].generation
        silent, *rest = rng.sample(members, len(members))
        acts = {member: rng.choice((*QUIET, "joins", "joins")) for member in rest}
        for member in rest[: rng.randint(0, len(rest))][: max(0, len(members) - LEAST)]:
            acts[member] = "leaves"
        acts[silent] = rng.choice(QUIET)
        if not stable:  # whoever asks for an assignment then waits for somebody to join
            acts |= {member: "syncs" for member, act in acts.items() if act == "is silent"}
            acts[rest[-1]] = "joins"
            acts |= {member: "beats" for member, act in acts.items() if member.leads and act == "syncs"}
        come: list[Member] = []
        while len(members) + len(come) < MOST and rng.random() < 0.4:
            made += 1
            come.append(_member(wire, group, made))
            come[-1].reserve()
        acts |= dict.fromkeys(come, "joins")
        order = rng.sample(list(acts), len(acts))
        answers = once(wire, [ask for member in order if (ask := _asked(wire, topic, member, acts[member], turn))])
        asked = [member for member in order if acts[member] != "is silent"]
        for member, answer in zip(asked, answers, strict=True):
            _looked_at(member, acts[member], answer)
        moved = [member for member in acts if acts[member] in ("joins", "leaves")]
        members = [member for member in (*members, *come) if acts[member] != "leaves"]
        if not moved:
            continue
        for member in members:
            if acts[member] != "joins":
                member.await_rebalance().examined = True
                member.begin_join()
        _generation(members)
        wire.must(
            members[0].generation == before + 1,
            f"the generation behind {before} is {members[0].generation}; it must be {before + 1}",
            members[0].joined,
        )


def _member(wire, group, number):
    return wire.member(
        group,
        f"{group} {number}",
        session_timeout_ms=LONG_MS,
        rebalance_timeout_ms=LONG_MS,
        protocol_type=OPAQUE,
        protocols=[("range", b"of %d" % number)],
    )


def _asked(wire, topic, member, act, turn):
    """How to ask for it."""
    if act == "joins":
        member.settings["protocols"] = [("range", b"%s in %d" % (member.name.encode(), turn))]
        return partial(wire.join_group, member.group, member_id=member.id, via=member.name, **member.settings)
    of = (member.group, member.generation, member.id)
    if act == "leaves":
        return partial(wire.leave_group, member.group, member.id, via=member.name)
    if act == "beats":
        return partial(wire.heartbeat, *of, via=member.name)
    if act == "syncs":
        return partial(wire.sync_group, *of, protocol_type=OPAQUE, via=member.name)
    if act == "commits":
        how = {"offset": turn, "generation": member.generation, "member_id": member.id, "via": member.name}
        return partial(wire.commit, member.group, topic, **how)
    return None


def _looked_at(member, act, answer):
    """A join is answered with the others of its generation; whoever goes, is answered at once."""
    if act == "joins":
        member.joined = answer
        return
    answer.examined = True
    code = answer.error
    answer.must(code in MAY_BE, f"who {act} is answered {errors.name(code)}", "error_code")


def _generation(members):
    """All have joined: they are of one generation, and its leader is told what each has brought."""
    for member in members:
        member.finish_join().must_succeed()
    leader = next(member for member in members if member.leads)
    told = {member_id: bytes(brought) for member_id, brought in leader.joined.members.items()}
    due = {member.id: dict(member.settings["protocols"])["range"] for member in members}
    leader.joined.must(told == due, f"the leader is told {told}; it must be told {due}", "members")
    generations = sorted({member.generation for member in members})
    leader.joined.must(len(generations) == 1, f"the members are in the generations {generations}", "generation_id")


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
