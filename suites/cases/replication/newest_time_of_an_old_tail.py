"""What a leader that stood still remembers of the records that it gave up: nothing, though it was not started again."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import (
    NO_NODE,
    WITHIN_S,
    all_in_sync,
    frozen,
    leader_shown,
    replicated,
    roles,
)
from brokertrial.suites.cases.replication.elections import leads_again
from brokertrial.suites.probe import batch

HOUR_MS, ON_ITS_WAY_S = 3_600_000, 1


@case(
    "replication/newest-time-after-an-old-tail",
    guarantees=["repl-009", "offs-005", "offs-002"],
    needs=["three-nodes", "leaders", "topic-settings", "pause"],
    apis={"ListOffsets": 7, "ElectLeaders": 1},
    detects=["B74"],
)
def what_was_cut_off_has_no_time(wire, nodes, rng):
    """A leader that stood still and comes back MUST forget the times of the records that it gives up with the end of
    its log: when it leads again, ListOffsets for the newest time and by time MUST name records that are there.

    What it alone had is two hours younger than everything before; the next leader writes records of drawn times.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    leader, followers = roles(wire, topic)
    now = wire.now_ms() - 24 * HOUR_MS
    wire.produce(topic, batch(at=[now + 1_000 * step for step in rng.sample(range(10), 3)]), acks=-1).must_be_at(0)

    frozen(nodes, followers)
    alone = now + 2 * HOUR_MS
    wire.produce(topic, batch(at=[now + 15_000]), acks=1, to=leader).must_succeed()
    wire.rest(ON_ITS_WAY_S)  # this one may be on its way to a follower
    wire.produce(topic, batch(at=[alone]), acks=1, to=leader).must_succeed()
    nodes.pause(leader)
    for node in followers:
        nodes.resume(node)
    asked = followers[0]
    wire.until(
        lambda: another_leads(wire, topic, leader, asked),
        within=WITHIN_S,
        what=f"another node than {leader} leads",
    )
    new = leader_shown(wire, topic, asked)
    for _ in range(3):
        wire.produce(topic, batch(at=[now + 1_000 * rng.randint(20, 900)]), acks=1, to=new).must_succeed()

    nodes.resume(leader)
    all_in_sync(wire, topic)
    wire.until(lambda: leads_again(wire, topic, leader), within=WITHIN_S, what=f"node {leader} leads again")
    there = {record.offset: record.timestamp for record in wire.read_all(topic).records}
    newest = max(there.values())
    if newest == alone:
        wire.unclear("a follower has got the record that the former leader was to have alone")
    first = min(offset for offset, time in there.items() if time == newest)
    wire.list_offsets(topic, at="max-timestamp").must_name(offset=first, timestamp=newest)
    wire.list_offsets(topic, at=newest + 1).must_name(offset=-1)
    wire.list_offsets(topic, at=newest).must_name(offset=first, timestamp=newest)


def another_leads(wire, topic, leader, asked):
    """Whether another replica has been elected, as this node shows; only where one was in sync can that be."""
    part = wire.metadata(topic, to=asked).struct.topics[0].partitions[0]
    if list(part.isr_nodes) == [leader]:
        wire.unclear("the leader had left its followers out of the in-sync replicas before it stood still")
    return part.leader_id not in (leader, NO_NODE)
