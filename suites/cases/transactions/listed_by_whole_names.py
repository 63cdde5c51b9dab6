"""ListTransactions by patterns with several alternatives: whole transactional ids (KIP-1152)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.patterns import drawn_pattern
from brokertrial.wire.messages import request

IDS, TURNS = 6, 16


@case(
    "transactions/listed-by-whole-names",
    guarantee="txn-026",
    apis={"InitProducerId": 0, "ListTransactions": 2},
    detects=["B67"],
)
def no_alternative_lists_an_id_by_a_part_of_it(wire, rng):
    """ListTransactions with a pattern of several alternatives MUST list the transactional ids that one of them matches
    as a whole, and none that only begins, ends or goes on with what one of them matches.
    """
    ids = [wire.name("x") for _ in range(IDS)]
    for transactional_id in ids:
        wire.producer(transactional_id)
    for _ in range(TURNS):
        wanted = rng.sample(ids, rng.randint(0, IDS - 1))
        pattern = drawn_pattern(rng, ids, wanted)
        asked = request("ListTransactions", transactional_id_pattern=pattern)
        answers = [wire.ask(asked, to=node).must_succeed() for node in wire.nodes]
        rows = [row.transactional_id for answer in answers for row in answer.struct.transaction_states]
        found = sorted(name for name in rows if name in ids)
        wire.must(found == sorted(wanted), f"{pattern} lists {found}; it must list {sorted(wanted)}", *answers)
