"""Static membership: members known by an instance id (KIP-345)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors

STATIC = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "OffsetCommit": 7}
INSTANCE = "i-1"


@case(
    "groups/static-member-returns",
    guarantee="grp-015",
    apis=STATIC,
    detects=[edit_answer("generation_id", add=1, api="JoinGroup", fields={"group_instance_id": INSTANCE}, skip=1)],
)
def a_static_member_that_returns_keeps_its_assignment(wire, group):
    """A static member that comes back within its session timeout MUST get its assignment back without a rebalance."""
    other, static = wire.member(group, "other"), wire.member(group, "static", instance_id=INSTANCE)
    _stable(other, static)

    again = wire.member(group, "again", instance_id=INSTANCE)
    again.join().must_have("generation_id", other.generation)
    again.sync().must_bring(b"the static one's")
    other.heartbeat().must_succeed()


@case(
    "groups/second-holder-fences",
    guarantee="grp-015",
    apis=STATIC,
    detects=[edit_answer("error_code", set=0, api="Heartbeat")],
)
def a_second_holder_of_an_instance_id_fences_the_first(wire, topic, group):
    """When another member takes over an instance id, each holder before it MUST be refused with FENCED_INSTANCE_ID
    (82); the last one holds it, with a member id of its own.

    Three take it over in turn, while nothing else moves in the group.
    """
    other, static = wire.member(group, "other"), wire.member(group, "static", instance_id=INSTANCE)
    _stable(other, static)
    holders = [static]
    for number in range(3):
        again = wire.member(group, f"again {number}", instance_id=INSTANCE)
        joined = again.join().must_succeed()
        known = [one.id for one in (other, *holders)]
        joined.must(again.id not in known, f"its member id is {again.id}, as another had", "member_id")
        for one in holders:
            one.heartbeat().must_be_refused(errors.FENCED_INSTANCE_ID)
            one.sync().must_be_refused(errors.FENCED_INSTANCE_ID)
            one.commit(topic, offset=5).must_be_refused(errors.FENCED_INSTANCE_ID)
        holders.append(again)
    wire.committed(group, topic).must_be(-1)
    holders[-1].sync().must_bring(b"the static one's")
    holders[-1].heartbeat().must_succeed()


@case("groups/static-member-changes-its-timeout", guarantees=["grp-013", "grp-015"], apis=STATIC, detects=["K10"])
def a_returning_static_member_brings_its_timeouts(wire, group):
    """A static member that returns with another rebalance timeout MUST be waited for so long, and no longer as before.

    It returns with 2 s instead of 60 s, and then does not answer the call to a rebalance.
    """
    long, short = 60_000, 2_000
    first = wire.member(group, "first", instance_id=INSTANCE, rebalance_timeout_ms=long, session_timeout_ms=long)
    first.join().must_succeed()
    first.sync({first.id: b"all"}).must_succeed()
    again = wire.member(group, "again", instance_id=INSTANCE, rebalance_timeout_ms=short, session_timeout_ms=long)
    again.join().must_succeed()

    other = wire.member(group, "other", rebalance_timeout_ms=short)
    with wire.the_subject():
        other.begin_join()
        joined = other.finish_join().must_succeed()
    most = short / 1_000 + 10 + wire.slack_s
    took = joined.took_ms / 1_000
    joined.must(took < most, f"the rebalance lasted {took:.0f} s; both members allow {short / 1_000:.0f} s")


def _stable(other, static):
    """A generation of both, led by the one that is not static."""
    other.join().must_succeed()
    other.sync({other.id: b"all"}).must_succeed()
    rebalance(other, static, assignments=[b"the other's", b"the static one's"])
