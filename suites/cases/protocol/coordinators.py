"""FindCoordinator: who looks after a group or a transactional id."""

from faults.kinds import edit_answer
from suites.case import case
from wire import errors
from wire.messages import request

KINDS = {"group": 0, "transactional id": 1}


@case(
    "protocol/coordinators",
    guarantee="prot-019",
    apis={"FindCoordinator": 4, "Heartbeat": 0},
    fails_on=[edit_answer("coordinators[3].node_id", add=50, api="FindCoordinator")],
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
    told = {kind: [_coordinators(wire, node, keys, number) for node in wire.nodes] for kind, number in KINDS.items()}
    for kind, answers in told.items():
        for key in keys:
            named = {answer[key] for answer in answers}
            wire.must(len(named) == 1, f"the brokers name {sorted(named)} as coordinator of the {kind} {key}")
            wire.must(named <= set(wire.nodes), f"{kind} {key}: {named} is not among the brokers {wire.nodes}")

    asked = [
        wire.ask(request("Heartbeat", group_id=key, member_id="nobody"), to=told["group"][0][key], wait=False)
        for key in some
    ]
    for answer in asked:
        answer.must_be_refused(errors.UNKNOWN_MEMBER_ID, errors.GROUP_ID_NOT_FOUND)


def _coordinators(wire, node, keys, kind):
    """What one broker says: key -> node id, once its internal topic is there."""

    def asked():
        answer = wire.ask(request("FindCoordinator", key_type=kind, coordinator_keys=keys), to=node)
        return None if answer.error == errors.COORDINATOR_NOT_AVAILABLE else answer.must_succeed()

    answer = wire.until(asked, within=30, what=f"node {node} names the coordinators")
    found = {row.key: row.node_id for row in answer.struct.coordinators}
    answer.must(sorted(found) == sorted(keys), "not every key is answered once", "coordinators")
    return found
