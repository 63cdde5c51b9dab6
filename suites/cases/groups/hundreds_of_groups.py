"""Hundreds of groups with one coordinator: each is told of once, described, and deleted."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire import errors
from brokertrial.wire.messages import request

GROUPS, ABSENT, DELETED, WITHIN_S = 300, 1_700, 150, 30
DEAD = (errors.NONE, errors.GROUP_ID_NOT_FOUND)


@case(
    "groups/hundreds-told-and-deleted",
    guarantees=["grp-020", "grp-021", "err-008", "prot-019"],
    apis={"ListGroups": 0, "DescribeGroups": 0, "DeleteGroups": 0, "FindCoordinator": 4},
    needs=["kill", "terminate", "restart"],
    detects=["B289"],
)
def each_of_them_is_there_or_gone(wire, topic, nodes, rng):
    """However many groups a coordinator has, ListGroups MUST show each once, DescribeGroups of thousands MUST tell of
    each that it names, and DeleteGroups MUST answer each: deleted, or not found (69). So it MUST be after the
    coordinator was stopped or killed.

    300 groups that have committed an offset, with 1,700 names of none beside them; half of them are deleted.
    """
    names = [wire.name(f"g{number}") for number in range(GROUPS * len(wire.nodes) + ABSENT)]
    home, ours = _of_one_coordinator(wire, names)
    groups, absent = ours[:GROUPS], ours[GROUPS:]
    for group in groups:
        wire.commit(group, topic, offset=7).must_succeed()
    _must_be_there(wire, home, groups, absent, rng)
    gone = rng.sample(groups, DELETED)
    _must_be_deleted(wire, home, gone, absent, rng)
    left = [group for group in groups if group not in gone]
    _must_be_there(wire, home, left, [*gone, *absent], rng)
    rng.choice((nodes.stop_and_start, nodes.crash))(home)
    wire.await_topic(topic)
    look = same_draws(rng, _must_all_be_there, wire, left, [*gone, *absent], rng)
    wire.eventually(look, within=WITHIN_S)


def _of_one_coordinator(wire, names):
    """The node that coordinates most of them, and those."""
    wire.coordinator(names[0])
    by_node, answer = _by_coordinator(wire, names)
    home, ours = max(by_node.items(), key=lambda each: len(each[1]))
    wire.must(len(ours) > GROUPS, f"of {len(names)} groups no node coordinates more than {len(ours)}", answer)
    return home, ours


def _by_coordinator(wire, names):
    """The names by the node that coordinates them, and the answer."""
    asked = request("FindCoordinator", key_type=0, coordinator_keys=names)
    answer = wire.ask(asked, retry_on=(errors.COORDINATOR_NOT_AVAILABLE,)).must_succeed()
    told = sorted(row.key for row in answer.struct.coordinators)
    answer.must(told == sorted(names), f"{len(told)} of {len(names)} keys are answered", "coordinators")
    by_node: dict[int, list[str]] = {}
    for row in answer.struct.coordinators:
        by_node.setdefault(row.node_id, []).append(row.key)
    return by_node, answer


def _must_all_be_there(wire, there, absent, rng):
    """Wherever they are coordinated now."""
    by_node, _ = _by_coordinator(wire, [*there, *absent])
    for node, names in by_node.items():
        known = set(names)
        _must_be_there(
            wire, node, [name for name in there if name in known], [name for name in absent if name in known], rng
        )


def _must_be_there(wire, home, there, absent, rng):
    listed = wire.list_groups(to=home).must_succeed()
    found = [row.group_id for row in listed.struct.groups]
    odd = [name for name in there if found.count(name) != 1] + [name for name in absent if name in set(found)]
    listed.must(
        not odd,
        f"{len(odd)} groups, such as {', '.join(odd[:2])}, are listed wrongly: not once, or though deleted",
        "groups",
    )

    named = rng.sample([*there, *absent], len(there) + len(absent))
    answer = wire.ask(request("DescribeGroups", groups=named), to=home)
    answer.examined = True
    rows = [(row.group_id, row.error_code, row.group_state) for row in answer.struct.groups]
    answer.must(
        sorted(row[0] for row in rows) == sorted(named), f"it has {len(rows)} rows for {len(named)} groups", "groups"
    )
    known = set(there)
    for name, error, state in rows:
        right = (error, state) == (0, "Empty") if name in known else state == "Dead" and error in DEAD
        answer.must(
            right,
            f"group {name} {'exists' if name in known else 'does not exist'}, and is {state} with {errors.name(error)}",
        )


def _must_be_deleted(wire, home, gone, absent, rng):
    named = rng.sample([*gone, *absent], len(gone) + len(absent))
    answer = wire.ask(request("DeleteGroups", groups_names=named), to=home)
    answer.examined = True
    rows = sorted((row.group_id, row.error_code) for row in answer.struct.results)
    due = sorted([(name, 0) for name in gone] + [(name, errors.GROUP_ID_NOT_FOUND) for name in absent])
    _must_be_answered(answer, rows, due)


def _must_be_answered(answer, rows, due):
    """(name, error) of each that was named."""
    answer.must(len(rows) == len(due), f"it has {len(rows)} rows for {len(due)} names")
    for (name, error), (wanted_name, wanted) in zip(rows, due, strict=True):
        answer.must(
            (name, error) == (wanted_name, wanted),
            f"{name} is answered {errors.name(error)}; {wanted_name} must be answered {errors.name(wanted)}",
        )
