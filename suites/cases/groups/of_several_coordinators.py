"""Requests for several groups, some of which other nodes coordinate: each group is answered for, here or elsewhere."""

from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

EACH = 2


@case(
    "groups/of-several-coordinators-in-one-request",
    guarantees=["grp-021", "grp-020", "cmt-001"],
    apis={"DeleteGroups": 0, "DescribeGroups": 0, "OffsetFetch": 8, "OffsetCommit": 2},
    needs=["three-nodes"],
    detects=["B76"],
)
def each_group_is_answered_for(wire, topic, rng):
    """OffsetFetch, DescribeGroups and DeleteGroups that name groups of several coordinators MUST return a row for each
    of them: what is asked for of those that the node coordinates, also right after a commit of one of them was sent,
    and NOT_COORDINATOR (16) of the others, which MUST stay as they are.

    Two groups of each of three nodes, named in a drawn order; each node is asked in turn.
    """
    groups = _of_each_node(wire)
    for number, group in enumerate(groups):
        wire.commit(group, topic, offset=number).must_succeed()
    for node in wire.nodes:
        names = rng.sample(list(groups), len(groups))
        own = [name for name in names if groups[name] == node]
        pending = [wire.commit(name, topic, offset=100 + node, wait=False) for name in own]
        rows = [{"group_id": name, "topics": None} for name in names]
        fetched = wire.ask(request("OffsetFetch", groups=rows), to=node)
        _must_be(fetched, {row.group_id: row.error_code for row in fetched.struct.groups}, names, own)
        described = wire.ask(request("DescribeGroups", groups=names), to=node)
        _must_be(described, {row.group_id: row.error_code for row in described.struct.groups}, names, own)
        for answer in pending:
            answer.must_succeed()
    for node in wire.nodes:
        names = rng.sample(list(groups), len(groups))
        own = [name for name in names if groups[name] == node]
        deleted = wire.ask(request("DeleteGroups", groups_names=names), to=node)
        _must_be(deleted, {row.group_id: row.error_code for row in deleted.struct.results}, names, own)
        for name in own:
            wire.committed(name, topic).must_be(-1)
            del groups[name]
        for name, coordinator in groups.items():
            wire.committed(name, topic).must_be(100 + coordinator)


def _of_each_node(wire):
    """Groups with the nodes that coordinate them, two of each node."""
    found: dict[str, int] = {}
    while len(found) < EACH * len(wire.nodes):
        name = wire.name("g")
        if list(found.values()).count(node := wire.coordinator(name)) < EACH:
            found[name] = node
    return found


def _must_be(answer, found, names, own):
    wanted = {name: errors.NONE if name in own else errors.NOT_COORDINATOR for name in names}
    answer.must(found == wanted, f"the error codes are {found}; they must be {wanted}")
