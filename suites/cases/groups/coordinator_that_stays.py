"""A coordinator whose log loses another replica: it leads on in a higher epoch, and knows all that it knew."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, reassign
from brokertrial.suites.probe import COMMITTED, rebalance
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, coordinator_partition

STATE_TOPIC, GROUP, TRANSACTION = "__transaction_state", 0, 1
STAYS = {"session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000}


@case(
    "groups/coordinator-that-stays-knows-them",
    guarantees=["grp-016", "cmt-002", "txn-011", "txn-021"],
    apis={"AlterPartitionReassignments": 0, "JoinGroup": 2, "OffsetFetch": 1, "EndTxn": 0},
    needs=["started", "three-nodes", "leaders", "partitions", "topic-settings"],
    detects=["B39"],
)
def nothing_is_forgotten(wire, topic, group, transactional_id, rng):
    """When a replica of its log is taken away, and a coordinator leads it on in a higher epoch, it MUST know its
    groups, their offsets and members, and its transactions as before: an open one MUST be committed, and its offsets
    then too (KAFKA-2841).

    Another replica than the coordinator's is taken away of both logs, and given back.
    """
    member = wire.member(group, "member", **STAYS)
    rebalance(member, assignments=[b"held"])
    other = wire.name("other")
    wire.commit(other, topic, offset=5).must_succeed()
    producer = wire.producer(transactional_id)
    producer.send(topic, "committed").must_succeed()
    producer.send_offsets(other, {(topic, 0): 7})
    logs = [(OFFSETS_TOPIC, group), (OFFSETS_TOPIC, other), (STATE_TOPIC, transactional_id)]
    for name, key in dict.fromkeys(logs):
        kind = TRANSACTION if name == STATE_TOPIC else GROUP
        _lead_on(wire, name, key, wire.coordinator(key, kind), rng)
    wire.committed(other, topic).must_be(5)
    member.heartbeat().must_succeed()
    producer.commit().must_succeed()
    wire.await_settled(topic, within=WITHIN_S)
    wire.read_all(topic, isolation=COMMITTED).must_hold("committed")
    wire.eventually(lambda: wire.committed(other, topic).must_be(7), within=WITHIN_S)
    described = wire.describe_group(group).must_have("groups[0].group_state", "Stable")
    held = [bytes(row.member_assignment) for row in described.at("groups[0].members")]
    described.must(held == [b"held"], f"its members hold {held}; it has one, which holds b'held'", "groups[0].members")


def _lead_on(wire, name, key, coordinator, rng):
    """Another replica is taken away, and comes back."""
    before = _row(wire, name, key, coordinator)
    others = [node for node in before.replica_nodes if node != coordinator]
    if before.leader_id != coordinator or len(others) < 2:
        wire.not_applicable(f"{name} is not on three nodes, or its partition is not led by the coordinator")
    taken = rng.choice(others)
    fewer = [coordinator, *(node for node in others if node != taken)]
    for replicas in (fewer, [*fewer, taken]):
        reassign(wire, {name: replicas}, to=wire.controller, index=before.partition_index)
        wire.until(
            lambda replicas=replicas: sorted(_row(wire, name, key, coordinator).isr_nodes) == sorted(replicas),
            within=WITHIN_S,
            what=f"{name} is on {replicas}",
        )


def _row(wire, name, key, asked):
    (shown,) = wire.metadata(name, to=asked).struct.topics
    index = coordinator_partition(key, len(shown.partitions))
    return next(row for row in shown.partitions if row.partition_index == index)
