"""Two brokers that the controllers find dead in one moment: neither is elected for the other."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.preferred_leaders import await_leaders

ALONE = {"min.insync.replicas": "1"}
FOUND_S, ASKS_EACH_S = 20, 0.5


@case(
    "replication/two-lost-at-once",
    guarantees=["repl-005", "repl-007", "kraft-005"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"CreateTopics": 5, "Metadata": 7},
    detects=["B279"],
)
def neither_leads_for_the_other(wire, nodes, rng):
    """Where two of three brokers are lost at once, each partition that the third has in sync MUST be led by that one,
    in a higher epoch, with itself alone in sync, and it MUST serve what was acknowledged; one that it does not hold has
    no leader.

    Both die while no controller is there, so that the next one finds both dead in one moment; then both are killed one
    right behind the other. Each leads a partition that the other follows, with the third and without it.
    """
    one, other, third = rng.sample(list(wire.nodes), 3)
    kept = [
        placed(wire, "wide", [one, other, third], **ALONE),
        placed(wire, "turned", [other, one, third], **ALONE),
        placed(wire, "led-by-one", [one, third], **ALONE),
        placed(wire, "led-by-other", [other, third], **ALONE),
    ]
    lost = placed(wire, "lost", [one, other], **ALONE)
    for turn, both_die in enumerate((nodes.crash_controllers, lambda kill: kill())):
        epochs = _all_have_it(wire, [*kept, lost], turn)
        both_die(lambda: [nodes.kill(node) for node in rng.sample([one, other], 2)])
        if not any(_is_alone(wire, third) for _ in range(round(FOUND_S / ASKS_EACH_S))):
            wire.not_applicable("who is left has no controller: the brokers that died are the controllers")
        wire.eventually(lambda was=epochs: _third_leads(wire, third, kept, lost, was), within=WITHIN_S)
        for topic in kept:
            wire.refresh_metadata(topic)
            wire.produce(topic, batch("alone"), acks=-1).must_be_at(2 * turn + 1)
            wire.read_all(topic).must_hold(*[value for past in range(turn + 1) for value in (f"{past}", "alone")])
        for node in (one, other):
            nodes.start(node)
        wire.await_topic(lost)
        wire.produce(lost, batch("again"), acks=-1).must_be_at(2 * turn + 1)


def _all_have_it(wire, topics, turn):
    """One record more in each, which is led by its first replica; the epochs of the leaders."""
    for topic in topics:
        all_in_sync(wire, topic)
    await_leaders(wire, of_all=True)
    for topic in topics:
        wire.refresh_metadata(topic)
        wire.produce(topic, batch(f"{turn}"), acks=-1).must_be_at(2 * turn)
    return {row.name: row.partitions[0].leader_epoch for row in wire.metadata(*topics).struct.topics}


def _is_alone(wire, third):
    """Whether it knows; else the next look is a little later."""
    alone = [row.node_id for row in wire.metadata(to=third).struct.brokers] == [third]
    if not alone:
        wire.rest(ASKS_EACH_S)
    return alone


def _third_leads(wire, third, kept, lost, epochs):
    answer = wire.metadata(*kept, lost, to=third)
    for row in answer.struct.topics:
        part = row.partitions[0]
        leads = "no node leads" if part.leader_id == NO_NODE else f"node {part.leader_id} leads"
        found = f"{leads} {row.name}, which is on {[*part.replica_nodes]} with {[*part.isr_nodes]} in sync"
        if row.name == lost:
            answer.must(part.leader_id == NO_NODE, f"{found}; both its replicas are dead, so that no node can")
            continue
        answer.must(part.leader_id == third, f"{found}; node {third} must, which alone is alive")
        answer.must([*part.isr_nodes] == [third], f"{found}; node {third} alone is alive")
        was = epochs[row.name]
        answer.must(part.leader_epoch > was, f"{found}, in epoch {part.leader_epoch}; that before was {was}")
