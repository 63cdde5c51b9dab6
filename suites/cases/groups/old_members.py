"""Members of different versions of the protocol in one group: what the older requests mean (KIP-62, 345, 394)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors

GROUPS = {"JoinGroup": 2, "SyncGroup": 0, "Heartbeat": 0, "LeaveGroup": 0}
SIMPLE = 4
"""JoinGroup since which a member must bring its id, with the instances of version 5."""


@case(
    "groups/of-every-version",
    guarantees=["grp-006", "grp-007", "grp-009", "cli-005"],
    apis=GROUPS,
    detects=["M27", edit_answer("generation_id", add=1, api="JoinGroup")],
)
def members_of_all_versions_make_one_group(wire, topic, group):
    """Members that speak the oldest and the newest version of the group APIs MUST be in one group: one generation, one
    leader that is given all of them, each its own assignment; and what one commits is returned to the others.
    """
    versions = wire.versions("JoinGroup")
    old = [versions[0], max(version for version in versions if version < SIMPLE)] if versions[0] < SIMPLE else []
    if not old:
        wire.not_applicable("the broker offers no JoinGroup below version 4")
    new = wire.member(group, "new")
    rebalance(new)
    first = new.generation
    asked = [
        wire.join_group(group, version=version, via=f"old {n}", wait=False, protocols=[("range", b"old %d" % n)])
        for n, version in enumerate(old)
    ]
    wire.until(
        lambda: len(wire.describe_group(group).at("groups[0].members")) == 3,
        within=10,
        what="all three members have come",
    )
    new.await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)
    new.begin_join()
    joined = {"new": new.finish_join(), **{f"old {n}": answer for n, answer in enumerate(asked)}}
    leaders = [name for name, answer in joined.items() if answer.must_succeed().leader == answer.member_id]
    wire.must(len(leaders) == 1, f"{leaders} of three members are named as leader; it must be one")
    ids = {answer.member_id: name for name, answer in joined.items()}
    generations = {answer.generation for answer in joined.values()}
    leaders_answer = joined[leaders[0]]
    leaders_answer.must(set(leaders_answer.members) == set(ids), "the leader is not sent all three members", "members")
    wire.must(
        generations == {first + 1}, f"the generations are {generations}; they must be {first + 1}", leaders_answer
    )

    given = {member_id: name.encode() for member_id, name in ids.items()}
    lowest = wire.versions("SyncGroup")[0]
    order = [leaders[0], *(name for name in joined if name != leaders[0])]
    for name in order:
        answer = joined[name]
        wire.sync_group(
            group,
            first + 1,
            answer.member_id,
            given if name == leaders[0] else None,
            version=None if name == "new" else lowest,
            via=name,
        ).must_bring(name.encode())
    for name, answer in joined.items():
        version = None if name == "new" else wire.versions("Heartbeat")[0]
        wire.heartbeat(group, first + 1, answer.member_id, version=version, via=name).must_succeed()
        wire.heartbeat(group, first, answer.member_id, version=version, via=name).must_be_refused(
            errors.ILLEGAL_GENERATION
        )
    oldest = joined["old 0"]
    wire.commit(
        group,
        topic,
        offset=7,
        member_id=oldest.member_id,
        generation=first + 1,
        version=wire.versions("OffsetCommit")[0],
    ).must_succeed()
    wire.committed(group, topic).must_be(7)
    wire.leave_group(group, oldest.member_id, version=wire.versions("LeaveGroup")[0], via="old 0").must_succeed()
    new.await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)


@case(
    "groups/join-without-a-rebalance-timeout",
    guarantee="grp-013",
    apis=GROUPS,
    detects=["Q14", edit_answer("generation_id", add=1, api="JoinGroup")],
)
def in_version_0_the_session_is_the_rebalance_timeout(wire, group):
    """JoinGroup v0, which has no rebalance timeout, MUST take the session timeout for it: a member that joins again
    within it is in the next generation, and one that does not is left out after it.
    """
    versions = wire.versions("JoinGroup")
    if 0 not in versions:
        wire.not_applicable("the broker offers no JoinGroup v0")
    session_ms = max(4_000, int(wire.setting("group.min.session.timeout.ms") or 6_000))

    def joins(member_id, via):
        return wire.join_group(
            group, member_id=member_id, session_timeout_ms=session_ms, version=0, via=via, wait=False
        )

    def synced(generation, answers):
        leader = next(answer for answer in answers.values() if answer.leader == answer.member_id)
        given = {answer.member_id: via.encode() for via, answer in answers.items()}
        for via, answer in sorted(answers.items(), key=lambda one: one[1] is not leader):
            brings = given if answer is leader else None
            wire.sync_group(group, generation, answer.member_id, brings, version=0, via=via).must_bring(via.encode())
        return leader

    first = joins("", "a").must_succeed()
    synced(first.generation, {"a": first})
    second = joins("", "b")
    wire.until(
        lambda: wire.heartbeat(group, first.generation, first.member_id, via="a").error == errors.REBALANCE_IN_PROGRESS,
        within=10,
        what="the first member learns of the second",
    )
    answers = {"a": joins(first.member_id, "a").must_succeed(), "b": second.must_succeed()}
    leader = synced(second.generation, answers)
    wanted = {answer.member_id for answer in answers.values()}
    leader.must(set(leader.members) == wanted, "the leader is sent others than the two that joined", "members")
    began = wire.now_ms()
    alone = joins(leader.member_id, "a" if leader is answers["a"] else "b").must_succeed()
    took = wire.now_ms() - began
    alone.must(set(alone.members) == {leader.member_id}, "who did not join again is still a member", "members")
    wire.must(
        took >= session_ms // 2, f"the rebalance ended after {took} ms; there were {session_ms} ms to join", alone
    )


@case(
    "groups/static-beside-dynamic",
    guarantees=["grp-014", "grp-015", "grp-010"],
    apis={"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3, "DescribeGroups": 4},
    detects=["P43", "N05"],
)
def static_and_dynamic_members_in_one_group(wire, group):
    """Where static and dynamic members are in one group, a static one that returns MUST NOT start a rebalance, a
    dynamic one that leaves MUST call all to the next generation with the static ones in it, and a static one that is
    removed by its instance MUST be gone: requests with its old member id are refused.
    """
    static = {name: wire.member(group, name, instance_id=name) for name in ("i-1", "i-2")}
    dynamic = {name: wire.member(group, name) for name in ("d-1", "d-2")}
    members = {**static, **dynamic}
    rebalance(*members.values(), assignments=[name.encode() for name in members])
    first = members["d-1"].generation
    back = wire.member(group, "i-1 again", instance_id="i-1")
    back.join().must_have("generation_id", first)
    back.sync().must_bring(b"i-1")
    members["i-1"] = back
    for member in members.values():
        member.heartbeat().must_succeed()

    dynamic["d-1"].leave().must_succeed()
    left = [members[name] for name in ("i-1", "i-2", "d-2")]
    left[2].await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)
    rebalance(*left, assignments=[b"i-1", b"i-2", b"d-2"])
    wire.must(left[0].generation == first + 1, f"the generation is {left[0].generation}; it must be {first + 1}")
    wire.leave_group(group, instance_ids=["i-2"]).must_succeed()
    left[0].await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)
    static["i-2"].heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)
    rebalance(left[0], left[2], assignments=[b"i-1", b"d-2"])
    answer = wire.describe_group(group).must_have("groups[0].group_state", "Stable")
    found = {(row.group_instance_id, row.member_id) for row in answer.at("groups[0].members")}
    wanted = {("i-1", left[0].id), (None, left[2].id)}
    answer.must(found == wanted, f"the members are {found}; they must be {wanted}", "groups[0].members")
