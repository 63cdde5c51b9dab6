"""Leadership goes to another node and back while a follower stands still: it hears of both at once."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._led_in_turn import APIS, comes_to_lead, shown
from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

PARTITIONS, TURNS = 3, 4


@case(
    "replication/led-elsewhere-and-back-while-a-follower-stands-still",
    guarantees=["repl-001", "repl-009", "repl-015"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "pause"],
    apis=APIS | {"Fetch": 11},
    detects=["J08"],
)
def it_follows_on(wire, nodes, rng):
    """A follower that stands still while the leadership of one of several partitions goes to another node and back MUST
    get all that is written next, once it goes on: acks=all is acknowledged, and it holds the records.

    Three partitions of one leader; one of them is led elsewhere for a moment, in each of four turns. The follower
    does not stand still for long enough to be taken for dead.
    """
    asked = wire.controller()
    still = rng.choice([node for node in wire.nodes if node not in (asked, _active_controller(wire))])
    leads, other = rng.sample([node for node in wire.nodes if node != still], 2)
    topic = wire.name("t")
    order = [leads, other, still]
    on = dict.fromkeys(range(PARTITIONS), order)
    wire.create_topic(topic, partitions=-1, assignments=on, configs={"min.insync.replicas": "2"}).must_succeed()
    wire.await_topic(topic)
    for turn in range(TURNS):
        wire.refresh_metadata(topic)
        for index in on:
            wire.produce(topic, batch(f"{turn}"), index, acks=-1).must_be_at(2 * turn)
        moved = rng.randrange(PARTITIONS)
        nodes.pause(still)
        comes_to_lead(wire, topic, [other, leads, still], asked, moved)
        comes_to_lead(wire, topic, order, asked, moved)
        nodes.resume(still)
        wire.refresh_metadata(topic)
        for index in on:
            wire.produce(topic, batch(f"{turn} then"), index, acks=-1).must_be_at(2 * turn + 1)
        for index in on:
            wire.eventually(
                lambda index=index, turn=turn: _must_hold(wire, topic, index, asked, still, 2 * turn + 1),
                within=WITHIN_S,
            )


def _must_hold(wire, topic, index, asked, still, offset):
    """The one that stood still is in sync, and gives a consumer the newest record."""
    isr = [*shown(wire, topic, asked, index).isr_nodes]
    wire.must(still in isr, f"{topic}-{index} has {isr} in sync; {still} goes on again")
    seen = wire.fetch(topic, index, offset=offset, to=still)
    if seen.error == errors.NOT_LEADER_OR_FOLLOWER:
        wire.not_applicable("followers do not serve consumers: what they hold does not show")
    seen.must_succeed().must(offset in seen.offsets, f"node {still} holds {seen.offsets}; it must hold {offset}")


def _active_controller(wire):
    """The node that the others need in order to change anything, where one of them is that and says so."""
    if not wire.versions("DescribeQuorum"):
        return None
    log = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
    answer = wire.ask(request("DescribeQuorum", topics=[log])).must_succeed()
    return answer.struct.topics[0].partitions[0].leader_id
