"""A node that no controller hears, and that replicates all the same (KIP-841)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, is_in_sync, shown_by
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors

LOOKS, REST_S = 8, 0.4
TOO_FEW = (errors.NOT_ENOUGH_REPLICAS, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


@case(
    "partition/fenced-is-not-in-sync",
    guarantees=["repl-003", "repl-005", "kraft-005"],
    needs=NEEDS,
    apis={"CreateTopics": 5},
    detects=["B161"],
)
def who_is_fenced_is_in_sync_nowhere(wire, nodes, rng):
    """A node that its controllers do not hear MUST be fenced: no other names it as a broker, others lead what it led,
    and it is in sync nowhere, however well it replicates, nor counted for min.insync.replicas (KIP-841), until it is
    heard again. Then it MUST be in sync again, with what was acknowledged meanwhile.

    The brokers reach it all the time, and records are written all the time.
    """
    fenced = rng.choice([node for node in wire.nodes if node != wire.controller()])
    leader, other = rng.sample([node for node in wire.nodes if node != fenced], 2)
    wide = placed(wire, "wide", [leader, fenced, other], **{"min.insync.replicas": "3"})
    pair = placed(wire, "pair", [leader, fenced], **{"min.insync.replicas": "1"})
    led = placed(wire, "led", [fenced, leader], **{"min.insync.replicas": "1"})
    topics = (wide, pair, led)
    for topic in topics:
        all_in_sync(wire, topic)
        wire.produce(topic, batch("0")).must_be_at(0)
    with apart(nodes, fenced, "controllers"):
        for topic in topics:
            for node in (leader, other):
                wire.until(
                    lambda of=topic, at=node: _is_out(wire, of, fenced, at),
                    within=WITHIN_S,
                    what=f"node {node} shows that node {fenced} is fenced",
                )
        for turn in range(1, LOOKS + 1):
            refused = wire.produce(wide, batch("too few"), to=leader, timeout_ms=1_000, retry=False)
            refused.must_be_refused(*TOO_FEW)
            for topic in (pair, led):
                wire.produce(topic, batch(f"{turn}"), to=leader).must_be_at(turn)
            wire.rest(REST_S)
            for topic in topics:
                answer = wire.metadata(topic, to=leader)
                isr = [*answer.struct.topics[0].partitions[0].isr_nodes]
                brokers = sorted(row.node_id for row in answer.struct.brokers)
                answer.must(
                    fenced not in isr and fenced not in brokers,
                    f"the brokers are {brokers}, and {isr} are in sync; no controller hears node {fenced}",
                    "topics[0].partitions[0].isr_nodes",
                )
    for topic in topics:
        wire.await_topic(topic)
        all_in_sync(wire, topic)
        wire.refresh_metadata(topic)
    wire.produce(wide, batch("all again")).must_succeed()
    for topic in (pair, led):
        wire.read_all(topic).must_hold(*(f"{turn}" for turn in range(LOOKS + 1)))


def _is_out(wire, topic, fenced, asked):
    row = shown_by(wire, topic, asked)
    return row.leader_id not in (fenced, NO_NODE) and not is_in_sync(wire, topic, fenced, asked)
