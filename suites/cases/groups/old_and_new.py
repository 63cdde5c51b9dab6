"""Clients of several ages in one group, and how old versions of the requests are answered."""

from typing import Any

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

GROUPS = {"JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0}
OLD_JOIN = 4
"""The newest JoinGroup without instance ids."""


@case(
    "groups/old-leader-beside-static",
    guarantees=["grp-006", "grp-007"],
    apis={**GROUPS, "JoinGroup": 5},
    detects=["K05", edit_answer("error_code", set=errors.UNSUPPORTED_VERSION, api="JoinGroup", skip=4)],
)
def a_leader_of_an_old_version_gets_the_generation_of_a_static_member(wire, group):
    """A leader whose JoinGroup version has no instance ids MUST be given all members of a generation that has a static
    one, in each of these versions, and its assignment MUST reach that static member.
    """
    old = [version for version in wire.versions("JoinGroup") if version <= OLD_JOIN]
    if not old:
        wire.not_applicable(f"JoinGroup is offered from {min(wire.versions('JoinGroup'))} on")
    leader = wire.member(group, "leader")
    leader.join().must_succeed()
    leader.sync({leader.id: b"all"}).must_succeed()
    static = wire.member(group, "static", instance_id="i-1")
    static.begin_join()
    leader.await_rebalance()
    for version in reversed(old):
        joined = wire.join_group(group, member_id=leader.id, version=version, via="leader")
        joined.must_succeed()
        leader.generation = joined.generation
        static.finish_join().must_have("generation_id", joined.generation)
        members = {row.member_id for row in joined.struct.members}
        joined.must(members == {leader.id, static.id}, f"the members are {members}", "members")
        leader.sync({leader.id: b"all", static.id: b"yours"}).must_succeed()
        static.sync().must_bring(b"yours")
        if version != old[0]:
            static.settings["protocols"] = [("range", version.to_bytes())]
            static.begin_join()
            leader.await_rebalance()


@case(
    "groups/empty-id-in-every-version",
    guarantees=["grp-022", "err-003"],
    level="should",
    apis={**GROUPS, "LeaveGroup": 0},
    detects=["K06", edit_answer("error_code", set=errors.UNSUPPORTED_VERSION, api="LeaveGroup")],
)
def a_refusal_of_the_whole_request_is_returned_in_every_version(wire):
    """A request that is refused as a whole SHOULD be refused with the same code in every version: an empty group id
    with INVALID_GROUP_ID (24) in JoinGroup, SyncGroup, Heartbeat and LeaveGroup.
    """
    fields: dict[str, dict[str, Any]] = {
        "JoinGroup": {
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
        },
        "SyncGroup": {"generation_id": 1, "member_id": "m", "protocol_type": "consumer", "protocol_name": "range"},
        "Heartbeat": {"generation_id": 1, "member_id": "m"},
        "LeaveGroup": {"member_id": "m", "members": [{"member_id": "m"}]},
    }
    for api, row in fields.items():
        for version in wire.versions(api):
            with wire.part(f"{api} v{version}"):
                answer = wire.ask(request(api, group_id="", **row), version=version)
                answer.must_be_refused(errors.INVALID_GROUP_ID)
