"""Several groups in one request, each in another state: each is described as it is."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors
from brokertrial.wire.messages import request

GROUPS = {"JoinGroup": 0, "SyncGroup": 0, "DescribeGroups": 0}
DEAD_IS_AN_ERROR_SINCE = 6


@case(
    "groups/described-together",
    guarantee="grp-020",
    apis=GROUPS,
    detects=["P40"],
)
def each_of_several_groups_is_described_as_it_is(wire, topic, group):
    """One DescribeGroups MUST describe each group that it names once and as it is, in every version and order: one with
    members, one that only holds offsets, one that was joined and left, and one that does not exist.
    """
    names = [group, *_coordinated_with(wire, group, 3)]
    full, offsets, left, absent = names
    members = [
        wire.member(full, name, protocol_type="opaque", protocols=[("p", name.encode())], session_timeout_ms=30_000)
        for name in ("a", "b")
    ]
    rebalance(*members, assignments=[b"of a", b"of b"])
    wire.commit(offsets, topic, offset=5).must_succeed()
    guest = wire.member(left, "guest")
    rebalance(guest)
    wire.commit(left, topic, offset=6, member_id=guest.id, generation=guest.generation).must_succeed()
    guest.leave().must_succeed()
    states = {full: ("Stable", "opaque", "p"), offsets: ("Empty", "", ""), left: ("Empty", "consumer", "")}
    served = wire.versions("DescribeGroups")
    for version in served:
        for order in (names, names[::-1], [left, full]):
            with wire.part(f"v{version}"):
                asked = request("DescribeGroups", groups=order)
                answer = wire.ask(asked, to=lambda: wire.coordinator(full), version=version)
                rows = answer.struct.groups
                described = [row.group_id for row in rows]
                answer.must(
                    sorted(described) == sorted(order), f"it describes {described}; it was asked for {order}", "groups"
                )
                for row in rows:
                    _must_be(answer, row, states, absent, members if row.group_id == full else ())


def _must_be(answer, row, states, absent, members):
    if row.group_id == absent:
        is_error = answer.version >= DEAD_IS_AN_ERROR_SINCE
        gone = ("Dead", errors.GROUP_ID_NOT_FOUND if is_error else errors.NONE, 0)
        reported = (row.group_state, row.error_code, len(row.members))
        answer.must(reported == gone, f"the group that does not exist is reported as {reported}", "groups")
        return
    described = (row.error_code, row.group_state, row.protocol_type, row.protocol_data)
    wanted = (0, *states[row.group_id])
    answer.must(described == wanted, f"it is reported as {described}; it must be {wanted}", "groups")
    found = {each.member_id: (bytes(each.member_metadata), bytes(each.member_assignment)) for each in row.members}
    brought = {each.id: (each.name.encode(), b"of " + each.name.encode()) for each in members}
    answer.must(found == brought, f"its members are {found}; they must be {brought}", "groups")


def _coordinated_with(wire, group, count):
    """Names of more groups that have the coordinator of the first."""
    node, found = wire.coordinator(group), []
    for number in range(60):
        name = wire.name(f"g{number}")
        if wire.coordinator(name) == node:
            found.append(name)
        if len(found) == count:
            return found
    return wire.unclear(f"no {count} of 60 groups have the coordinator of {group}")
