"""LeaveGroup for several members of which some cannot leave, wherever these stand (KIP-345)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors
from brokertrial.wire.messages import request

BATCHED, LEAVERS = 3, 3
WRONG: tuple[tuple[dict[str, str | None], int], ...] = (
    ({"member_id": "nobody", "group_instance_id": None}, errors.UNKNOWN_MEMBER_ID),
    ({"member_id": "", "group_instance_id": "i-nobody"}, errors.UNKNOWN_MEMBER_ID),
    ({"member_id": "nobody", "group_instance_id": "i-stays"}, errors.FENCED_INSTANCE_ID),
)


@case(
    "groups/left-in-part-in-any-order",
    guarantees=["grp-014", "grp-015"],
    apis={"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": BATCHED, "DescribeGroups": 4},
    detects=["B334", "V02"],
)
def those_that_leave_are_missed(wire, rng):
    """Where one LeaveGroup names members that may leave and some that may not, each MUST have its own result, wherever
    it stands; if any has left the others MUST be called to join again, and if none has they MUST NOT be.

    Wrong lines first, in the middle, last, all around, and alone; members by id and by instance, in every version.
    """
    places = {"first": [0], "in the middle": [1], "last": [LEAVERS], "first and last": [0, LEAVERS + 1], "alone": None}
    versions = [version for version in wire.versions("LeaveGroup") if version >= BATCHED]
    for where, indexes in places.items():
        with wire.part(f"wrong lines stand {where}"):
            _one_group(wire, rng, indexes, rng.choice(versions))
    for version in versions:
        with wire.part(f"v{version}"):
            _one_group(wire, rng, [LEAVERS], version)


def _one_group(wire, rng, indexes, version):
    group = wire.name("g")
    stays = wire.member(group, f"{group} stays", instance_id="i-stays")
    static = [wire.member(group, f"{group} static {n}", instance_id=f"i-{n}") for n in range(LEAVERS - 1)]
    plain = wire.member(group, f"{group} plain")
    rebalance(stays, *static, plain)
    leave = [
        ({"member_id": rng.choice(("", one.id)), "group_instance_id": one.settings["instance_id"]}, 0) for one in static
    ]
    leave.insert(rng.randrange(LEAVERS), ({"member_id": plain.id, "group_instance_id": None}, 0))
    rows = [] if indexes is None else leave
    for index in [0, 0] if indexes is None else indexes:
        rows.insert(index, rng.choice(WRONG))
    asked = request("LeaveGroup", group_id=group, members=[row for row, _ in rows])
    answer = wire.ask(asked, to=wire.coordinator(group), version=version)
    codes, wanted = [row.error_code for row in answer.struct.members], [code for _, code in rows]
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "members")
    if indexes is None:
        for one in (stays, *static, plain):
            one.heartbeat().must_succeed()
        return
    for one in (*static, plain):
        one.heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)
    stays.await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)
    joined = stays.join().must_succeed()
    joined.must(set(joined.members) <= {stays.id}, "only the member that was named wrongly is left", "members")
    stays.sync({stays.id: b"all"}).must_bring(b"all")
