"""Producer ids over the life of a cluster: none is ever given out twice (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.wire import errors

WANTED, AT_ONCE, MOST_ROUNDS = 2_100, 50, 200
"""More than two blocks; so many requests are under way on one connection."""


@case(
    "idempotence/ids-after-a-crash",
    guarantee="idem-001",
    needs=["kill", "restart"],
    apis={"InitProducerId": 0},
    detects=["M11d", "N11"],
)
def a_crash_brings_no_producer_id_back(wire, nodes):
    """A producer id MUST NOT be given out a second time, not even after a crash of the node that gave it out.

    Two producers of one id would be taken for one, and the batches of one of them for duplicates.
    """
    node = wire.nodes[0]
    before = [wire.init_producer_id(to=node).producer_id for _ in range(5)]
    nodes.crash(node)
    after = [wire.init_producer_id(to=node).producer_id for _ in range(5)]
    given = before + after
    wire.must(len(set(given)) == len(given), f"before the crash the ids {before} were given out, and {after} after it")


@case(
    "idempotence/ids-of-several-blocks",
    guarantee="idem-001",
    apis={"InitProducerId": 0},
    detects=["B49", "N11"],
)
def where_a_block_ends_no_id_is_given_twice(wire):
    """A producer id MUST NOT be given out a second time where the ids of one node are used up and it gets others.

    Kafka's controllers hand out a thousand at a time (KIP-730); who asks while they are on their way is refused.
    """
    given = set[int]()
    for _ in range(MOST_ROUNDS):
        answers = [wire.init_producer_id(to=wire.nodes[0], wait=False) for _ in range(AT_ONCE)]
        for answer in [one for one in answers if one.error != errors.COORDINATOR_LOAD_IN_PROGRESS]:
            answer.must_succeed()
            answer.must(
                answer.producer_id not in given,
                f"producer id {answer.producer_id} was given out before; {len(given)} were given since the first",
                "producer_id",
            )
            given.add(answer.producer_id)
        if len(given) >= WANTED:
            return
    wire.unclear(f"{len(given)} producer ids were given; at least {WANTED} are needed to pass where a block ends")
