"""A leader that does not have everything, because an administrator asks for it or allows it (KIP-460, KIP-106)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.cases.replication.elections import leads_again
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import request

PREFERRED, UNCLEAN = 0, 1
ALLOWED = "unclean.leader.election.enable"
RESULT = "replica_election_results[0].partition_result[0].error_code"
INTERVAL = "unclean.leader.election.interval.ms"
"""How often a controller looks for partitions that may have a leader so; five minutes, but for what a case chooses."""
ABSENT = (errors.NOT_LEADER_OR_FOLLOWER, errors.LEADER_NOT_AVAILABLE)


@case(
    "replication/unclean-when-asked",
    guarantees=["repl-005", "repl-006", "repl-007", "repl-009"],
    needs=["three-nodes", "leaders", "topic-settings", "kill", "restart"],
    apis={"CreateTopics": 5, "ElectLeaders": 1, "OffsetForLeaderEpoch": 2},
    detects=["X10"],
)
def who_lacks_something_leads_when_asked_to(wire, nodes, rng):
    """A replica that is not in sync MUST become leader only when an unclean election is asked for and there is no
    leader, however often a preferred one is asked for: in a higher epoch, as the only one in sync, with the records
    that it has. What only the former leader had MUST be gone then from every replica, also when that one is back and
    leads again, and each epoch MUST end where the next begins.
    """
    one, other = rng.sample(wire.nodes, 2)
    topic = placed(wire, "kept", [one, other], **{"min.insync.replicas": "1"})
    all_in_sync(wire, topic)
    common = _written(wire, topic, [], rng.randint(1, 4))
    _elect(wire, topic, UNCLEAN).must_have(RESULT, errors.ELECTION_NOT_NEEDED)
    nodes.kill(other)
    wire.until(lambda: other not in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"{other} is out of sync")
    alone = _written(wire, topic, common, rng.randint(1, 3), acks=1)
    nodes.kill(one)
    nodes.start(other)
    wire.until(
        lambda: _no_node_leads(wire, topic, other), within=WITHIN_S, what="no node leads, with one replica alive"
    )
    before = partition(wire, topic)
    for _ in range(2):
        _elect(wire, topic, PREFERRED).must_have(RESULT, errors.PREFERRED_LEADER_NOT_AVAILABLE)
        wire.produce(topic, batch("x"), to=other, retry=False).must_be_refused(*ABSENT)
        wire.must(_no_node_leads(wire, topic, other), f"node {other} leads, and lacks what node {one} acknowledged")

    _elect(wire, topic, UNCLEAN).must_have(RESULT, errors.NONE)
    wire.until(lambda: partition(wire, topic).leader_id == other, within=WITHIN_S, what=f"node {other} leads")
    row = partition(wire, topic)
    wire.must(
        row.leader_epoch > before.leader_epoch and row.isr_nodes == [other],
        f"node {other} leads in epoch {row.leader_epoch} with {row.isr_nodes} in sync; "
        f"before it was {before.leader_epoch}, and it alone is",
    )
    _elect(wire, topic, UNCLEAN).must_have(RESULT, errors.ELECTION_NOT_NEEDED)
    _must_hold(wire, topic, common)
    values = _written(wire, topic, common, rng.randint(1, len(alone) - len(common) + 1), "new ")
    _must_hold(wire, topic, values)

    nodes.start(one)
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    wire.until(lambda: leads_again(wire, topic, one), within=WITHIN_S, what=f"node {one} leads again")
    values = _written(wire, topic, values, 1, "last ")
    _must_hold(wire, topic, values)


@case(
    "replication/led-alone-in-turn",
    guarantees=["repl-006", "repl-009", "repl-007"],
    needs=["three-nodes", "leaders", "topic-settings", "kill", "terminate", "restart"],
    apis={"CreateTopics": 5, "ElectLeaders": 1, "OffsetForLeaderEpoch": 2},
    detects=["B48"],
)
def who_follows_in_the_end_has_what_the_leader_has(wire, nodes, rng):
    """Two replicas lead in turn, each by an unclean election while the other is down, and write what the other never
    gets. Who follows at last MUST give up all that the leader's log does not have, and be in sync again: when it leads
    itself, it has the same records in the same epochs (KIP-101, KIP-279, KAFKA-6361).
    """
    leader, away = rng.sample(wire.nodes, 2)
    topic = placed(wire, "t", [leader, away], **{"min.insync.replicas": "1"})
    all_in_sync(wire, topic)
    common = _written(wire, topic, [], rng.randint(1, 4))
    held = {leader: common, away: common}
    _left_alone(wire, nodes, topic, away)
    for term in range(rng.choice((2, 2, 3, 4))):
        held[leader] = _written(wire, topic, held[leader], rng.randint(2, 9), f"term {term}, ", acks=1)
        rng.choice([nodes.kill, nodes.terminate])(leader)
        nodes.start(away)
        leader, away = away, leader
        wire.until(lambda node=leader: _is_elected(wire, topic, node), within=WITHIN_S, what=f"node {leader} leads")
    values = _written(wire, topic, held[leader], rng.randint(0, 9), "last term, ", acks=1)
    _must_hold(wire, topic, values)
    nodes.start(away)
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    comes_to_lead(wire, topic, [away, leader], wire.controller)
    wire.refresh_metadata(topic)
    _must_hold(wire, topic, values)
    _must_hold(wire, topic, _written(wire, topic, values, 1, "after it, "))


@case(
    "replication/unclean-once-allowed",
    guarantees=["repl-005", "repl-006", "repl-007"],
    since="4.0 (KAFKA-12670)",
    needs=["chosen-settings", "started", "three-nodes", "leaders", "topic-settings", "kill", "terminate", "restart"],
    apis={"CreateTopics": 5, "IncrementalAlterConfigs": 0, "OffsetForLeaderEpoch": 2},
    detects=["W14"],
)
def who_lacks_something_leads_once_it_is_allowed(wire, nodes, rng):
    """While no in-sync replica of a partition is alive, a live one MUST become its leader some time after
    unclean.leader.election.enable was set for its topic: in a higher epoch, as the only one in sync, with the records
    that it has. Where its topic does not allow it, a partition MUST wait, and have all that was acknowledged when the
    other node is back.

    The controller looks for such partitions once a second.
    """
    nodes.start_with({INTERVAL: "1000"})
    one, other = rng.sample(wire.nodes, 2)
    allows, waits = (placed(wire, what, [one, other], **{"min.insync.replicas": "1"}) for what in ("one", "two"))
    held = {}
    for topic in (allows, waits):
        all_in_sync(wire, topic)
        held[topic] = _written(wire, topic, [], rng.randint(1, 4))
    nodes.kill(other)
    for topic in (allows, waits):
        wire.until(
            lambda topic=topic: other not in partition(wire, topic).isr_nodes,
            within=WITHIN_S,
            what=f"node {other} is out of sync",
        )
    held[waits] = _written(wire, waits, held[waits], rng.randint(1, 3), acks=1)
    _written(wire, allows, held[allows], rng.randint(1, 3), acks=1)
    nodes.kill(one)
    nodes.start(other)
    for topic in (allows, waits):
        wire.until(
            lambda topic=topic: _no_node_leads(wire, topic, other), within=WITHIN_S, what=f"no node leads {topic}"
        )
    before = partition(wire, allows).leader_epoch

    wire.change_configs(TOPIC, allows, [(ALLOWED, SET, "true")]).must_succeed()
    wire.until(lambda: partition(wire, allows).leader_id == other, within=WITHIN_S, what=f"node {other} leads")
    row = partition(wire, allows)
    wire.must(
        row.leader_epoch > before and row.isr_nodes == [other],
        f"node {other} leads in epoch {row.leader_epoch} with {row.isr_nodes} in sync; "
        f"before it was {before}, and it alone is",
    )
    _must_hold(wire, allows, held[allows])
    wire.must(_no_node_leads(wire, waits, other), f"node {other} leads, and lacks what node {one} acknowledged")

    nodes.start(one)
    for topic in (allows, waits):
        wire.await_topic(topic)
        all_in_sync(wire, topic)
        _must_hold(wire, topic, held[topic])


def _written(wire, topic, values, count, what="", acks=-1):
    """So many more records, each at its offset; of what may be lost later only the leader says that it has it."""
    held = list(values)
    for _ in range(count):
        value = f"{what}{len(held)}"
        wire.produce(topic, batch(value), acks=acks).must_be_at(len(held))
        held.append(value)
    return held


def _must_hold(wire, topic, values):
    log = wire.read_all(topic).must_have_offsets(range(len(values))).must_hold(*values)
    wire.list_offsets(topic).must_name(offset=len(values))
    ends = {part.header.leader_epoch: part.header.last_offset + 1 for part in log.batches}
    for epoch, end in ends.items():
        answer = wire.offset_for_leader_epoch(topic, epoch=epoch).must_succeed()
        row = answer.struct.topics[0].partitions[0]
        answer.must((row.leader_epoch, row.end_offset) == (epoch, end), f"epoch {epoch} ends at {row.end_offset}")


def _left_alone(wire, nodes, topic, away):
    nodes.kill(away)
    wire.until(lambda: away not in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"{away} is out of sync")


def _is_elected(wire, topic, node):
    """Asks this node for an unclean election, as others may still name a dead controller; and whether it leads."""
    rows = [{"topic": topic, "partitions": [0]}]
    asked = request("ElectLeaders", election_type=UNCLEAN, topic_partitions=rows, timeout_ms=10_000)
    wire.ask(asked, to=node).examined = True  # the next look shows what it did
    return partition(wire, topic).leader_id == node


def _elect(wire, topic, kind):
    rows = [{"topic": topic, "partitions": [0]}]
    asked = request("ElectLeaders", election_type=kind, topic_partitions=rows, timeout_ms=10_000)
    return wire.ask(asked, to=wire.controller)


def _no_node_leads(wire, topic, alive):
    """As the one that is alive shows it, which is among the brokers again."""
    metadata = wire.metadata(topic, to=alive).struct
    return alive in [row.node_id for row in metadata.brokers] and metadata.topics[0].partitions[0].leader_id == NO_NODE
