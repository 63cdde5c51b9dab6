"""Producer ids over the life of a cluster: none is ever given out twice (KIP-98)."""

from brokertrial.suites.case import case


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
