"""FindCoordinator: who looks after a group or a transactional id."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

KINDS = {"group": 0, "transactional id": 1}


@case(
    "protocol/coordinators",
    guarantee="prot-019",
    apis={"FindCoordinator": 4, "Heartbeat": 0},
    detects=[edit_answer("coordinators[3].node_id", add=50, api="FindCoordinator")],
)
def every_node_names_the_same_coordinator(wire, rng):
    """FindCoordinator MUST name brokers that Metadata lists, and every broker MUST name the same one for a key.

    The one that is named answers for the group: it does not say NOT_COORDINATOR. Where a coordinator is just moving,
    as when a broker that was away leads again, the brokers have 15 s to agree.
    """
    keys = [wire.name(f"k{number}") for number in range(40)]
    some = rng.sample(keys, 10)
    wire.eventually(lambda: _agree_and_serve(wire, keys, some), within=15)


def _agree_and_serve(wire, keys, some):
    named: dict[tuple[str, str], int] = {}
    for kind, number in KINDS.items():
        answers = [(answer, _named_in(answer)) for answer in (_asked(wire, node, keys, number) for node in wire.nodes)]
        for key in keys:
            by_id = {found[key]: answer for answer, found in answers}
            proof, ids = by_id.values(), sorted(by_id)
            wire.must(len(ids) == 1, f"the brokers name {ids} as coordinator of the {kind} {key}", *proof)
            wire.must(ids[0] in wire.nodes, f"{kind} {key}: {ids} is not among the brokers {wire.nodes}", *proof)
            named[kind, key] = ids[0]

    asked = [
        wire.ask(request("Heartbeat", group_id=key, member_id="nobody"), to=named["group", key], wait=False)
        for key in some
    ]
    for answer in asked:
        answer.must_be_refused(errors.UNKNOWN_MEMBER_ID, errors.GROUP_ID_NOT_FOUND)


def _asked(wire, node, keys, kind):
    """What one broker answers once its internal topic is there; every key is in it once."""

    def asked():
        answer = wire.ask(request("FindCoordinator", key_type=kind, coordinator_keys=keys), to=node)
        return None if answer.error == errors.COORDINATOR_NOT_AVAILABLE else answer.must_succeed()

    answer = wire.until(asked, within=30, what=f"node {node} names the coordinators")
    return answer.must(sorted(_named_in(answer)) == sorted(keys), "not every key is answered once", "coordinators")


def _named_in(answer):
    """Key -> node id."""
    return {row.key: row.node_id for row in answer.struct.coordinators}
