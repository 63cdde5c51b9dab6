"""A node that is killed and back at once, before it can be missed: it begins anew all the same (KIP-380, KIP-101)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, all_in_sync, placed
from brokertrial.suites.probe import batch

ALONE, TIMES, WITHIN_S = {"min.insync.replicas": "1"}, 2, 40
"""A controller may have to wait for the end of the former session before it takes the node again."""


@case(
    "replication/back-at-once-in-a-new-epoch",
    guarantees=["repl-007", "kraft-005", "repl-001"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"CreateTopics": 5, "Metadata": 7, "Fetch": 11},
    detects=["B163"],
)
def no_leader_goes_on_over_a_crash(wire, nodes, rng):
    """Each partition that was led by a node that is killed and started again at once MUST be led in a higher epoch from
    then on, by that node or another, as every node shows it and as the batches carry it, also where it is the only
    replica; each that was acknowledged MUST be there.

    A node that leads partitions of one, two and three replicas, twice.
    """
    crashed, *others = rng.sample(list(wire.nodes), 3)
    topics = [placed(wire, "t", [crashed, *others[:count]], **ALONE) for count in range(3)]
    values = []
    for turn in range(TIMES):
        values.append(f"{turn}")
        before = {}
        for topic in topics:
            all_in_sync(wire, topic)
            wire.produce(topic, batch(values[-1])).must_be_at(turn)
            before[topic] = wire.leader_epoch(topic)
        nodes.crash(crashed)
        for topic in topics:
            for node in wire.nodes:
                wire.eventually(
                    lambda of=topic, at=node, then=before[topic]: _must_be_led_anew(wire, of, at, then),
                    within=WITHIN_S,
                )
            wire.await_topic(topic)
            _must_carry_later_epochs(wire, topic, values)


def _must_be_led_anew(wire, topic, node, before):
    answer = wire.metadata(topic, to=node)
    row = answer.struct.topics[0].partitions[0]
    answer.must(
        row.leader_id != NO_NODE and row.leader_epoch > before,
        f"node {node} shows that node {row.leader_id} leads in epoch {row.leader_epoch}; it was killed in epoch "
        f"{before}",
        "topics[0].partitions[0].leader_epoch",
    )


def _must_carry_later_epochs(wire, topic, values):
    """What each of the leaders has written, of which all but the last are dead."""
    read = wire.read_all(topic).must_hold(*values)
    epochs = [part.header.leader_epoch for part in read.batches]
    read.must(sorted({*epochs}) == epochs, f"its batches carry the epochs {epochs}; each has a leader of its own")
