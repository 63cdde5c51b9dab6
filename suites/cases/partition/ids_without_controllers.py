"""Producer ids of a node that no controller hears: no new block of them can be had (KIP-730)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors

ASK_AGAIN = (errors.COORDINATOR_LOAD_IN_PROGRESS, errors.COORDINATOR_NOT_AVAILABLE, errors.NOT_COORDINATOR)
AT_ONCE, ROUNDS, SURELY = 50, 70, 3
"""Three blocks of a thousand and more; and how many rounds of refusals show that there are no more ids."""
WITHIN_S, MAY_TAKE_S = 60, 40


@case(
    "partition/ids-without-controllers",
    guarantees=["idem-001", "err-003"],
    needs=["three-nodes", "network"],
    apis={"InitProducerId": 0},
    detects=["B183"],
)
def no_id_is_given_twice_for_want_of_others(wire, nodes, rng):
    """A node that reaches no controller MUST answer InitProducerId with an id that was never given out before, or
    refuse it with a code on which every producer asks again (14, 15, 16), also once all ids that it had are used up.
    When it reaches them again it MUST give out ids that were never given out before, and so must the others.
    """
    alone = rng.choice([node for node in wire.nodes if node != wire.controller()])
    given = set[int]()
    for node in wire.nodes:
        wire.eventually(lambda node=node: _must_be_new(_asked(wire, node), given), within=WITHIN_S)
    with apart(nodes, alone, "controllers"):
        refused = 0
        for _ in range(ROUNDS):
            answers = [_asked(wire, alone, wait=False) for _ in range(AT_ONCE)]
            taken = [answer for answer in answers if answer.error not in ASK_AGAIN]
            for answer in taken:
                _must_be_new(answer, given)
            refused += not taken
            if refused == SURELY:
                break
    for node in rng.sample(wire.nodes, len(wire.nodes)):
        for _ in range(3):
            wire.eventually(lambda node=node: _must_be_new(_asked(wire, node), given), within=WITHIN_S)


def _asked(wire, node, **how):
    return wire.init_producer_id(to=node, retry=False, may_take_s=MAY_TAKE_S, **how)


def _must_be_new(answer, given):
    answer.must_succeed()
    answer.must(
        answer.producer_id not in given,
        f"producer id {answer.producer_id} was given out before; {len(given)} were given since the first",
        "producer_id",
    )
    given.add(answer.producer_id)
