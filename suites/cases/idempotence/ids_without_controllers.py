"""Producer ids while no new block of them can be allocated: the controllers are away, and brokers stay up."""

from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ASK_AGAIN = (errors.COORDINATOR_LOAD_IN_PROGRESS, errors.COORDINATOR_NOT_AVAILABLE, errors.NOT_COORDINATOR)
ASKED, REFUSED = 1_100, 3
"""More than a block of ids, as Kafka's controllers hand them out; and when it is clear that there is none."""
WITHIN_S, MAY_TAKE_S = 60, 40


@case(
    "idempotence/ids-while-controllers-are-dead",
    guarantees=["idem-001", "err-003"],
    needs=["three-nodes", "leaders", "kill", "restart"],
    apis={"InitProducerId": 0},
    detects=["K50"],
)
def who_asks_for_an_id_may_ask_again(wire, nodes, rng):
    """While two of three nodes are dead, which may be most of the controllers, InitProducerId MUST be answered with an
    id that was never given out before, or refused with a code on which every producer asks again (14, 15, 16); once
    they are back it MUST return ids that were never given out before.
    """
    left, *dead = rng.sample(list(wire.nodes), 3)
    ids = [_at_last(wire, node) for node in (left, *dead)]
    for node in dead:
        nodes.kill(node)
    refused = 0
    for _ in range(ASKED):
        answer = _asked(wire, left)
        refused += bool(answer.error)
        answer.must(
            answer.error in (errors.NONE, *ASK_AGAIN),
            f"while {len(dead)} nodes are dead InitProducerId is refused with {errors.name(answer.error)}, "
            "on which not every producer asks again",
            "error_code",
        )
        if not answer.error:
            ids.append(answer.struct.producer_id)
        if refused == REFUSED:
            break
    for node in dead:
        nodes.start(node)
    ids += [_at_last(wire, node) for node in (left, *dead)]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    wire.must(not twice, f"the producer ids {twice} were given twice")


def _at_last(wire, node):
    return wire.eventually(lambda: _asked(wire, node).must_succeed(), within=WITHIN_S).struct.producer_id


def _asked(wire, node):
    asked = request("InitProducerId", transactional_id=None, transaction_timeout_ms=10_000)
    return wire.ask(asked, to=node, may_take_s=MAY_TAKE_S)
