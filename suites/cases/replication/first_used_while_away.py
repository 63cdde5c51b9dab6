"""The topics that coordinators write to, when they are first used while a node is away."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits.log_deleted import delete_internal
from brokertrial.suites.cases.replication._handing_over import STATE_TOPIC
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire.messages import request

GROUP, TRANSACTION, NAMES, TIMES = 0, 1, 4, 3
PREFIXES = {OFFSETS_TOPIC: "offsets.topic", STATE_TOPIC: "transaction.state.log"}
FACTOR, COUNT = "replication.factor", "num.partitions"


@case(
    "replication/coordinators-topics-while-a-node-is-away",
    guarantees=["repl-002", "cmt-002", "txn-021"],
    apis={"DeleteTopics": 1, "OffsetCommit": 2, "OffsetFetch": 2, "InitProducerId": 0, "EndTxn": 0, "ElectLeaders": 1},
    needs=["started", "three-nodes", "leaders", "partitions", "topic-settings", "kill", "terminate", "restart"],
    detects=["B80"],
)
def they_are_made_as_the_settings_say(wire, nodes, rng):
    """The topics that group and transaction coordinators write to MUST have as many partitions and replicas as
    offsets.topic.replication.factor, transaction.state.log.replication.factor and their neighbours say, also where they
    are first used while a node is away: until it is back they may be missing, and clients try again. Then all replicas
    MUST be in sync, and when another node dies, what was committed MUST be there, offsets MUST be committed, and
    transactions MUST go on.

    They are deleted while a node is dead, and asked for before it is back. Once all have been placed, the other nodes
    are stopped and started: a group coordinator of Apache Kafka up to 3.9 takes no partition whose leader epoch is not
    above the one that it had before the topic was deleted (GroupMetadataManager.maybeUpdateCoordinatorEpoch).
    """
    wanted = {internal: _placement_set(wire, prefix) for internal, prefix in PREFIXES.items()}
    topic = placed(wire, "t", list(wire.nodes), **{"min.insync.replicas": "1"})
    all_in_sync(wire, topic)
    for kind in (GROUP, TRANSACTION):
        wire.coordinator(wire.name("first"), kind)
    everyone = list(wire.nodes)
    dead = rng.choice(everyone)
    alive = [node for node in everyone if node != dead]
    nodes.kill(dead)
    for node in alive:
        wire.until(
            lambda node=node: _brokers(wire, node) == {*alive}, within=WITHIN_S, what=f"node {node} misses node {dead}"
        )
    for internal in rng.sample(sorted(PREFIXES), 2):
        delete_internal(wire, internal)
        wire.until(
            lambda internal=internal: all(not _parts(wire, internal, node) for node in alive),
            within=WITHIN_S,
            what=f"{internal} is deleted",
        )
    for _ in range(TIMES):
        for node in alive:
            for kind in (GROUP, TRANSACTION):
                key = wire.name("used")
                asked = request("FindCoordinator", key=key, key_type=kind, coordinator_keys=[key])
                wire.ask(asked, to=node).examined = True  # it need not be there yet
        wire.rest(1)
    nodes.start(dead)
    for internal, placement in wanted.items():
        wire.eventually(lambda of=internal, as_set=placement: _must_be(wire, of, everyone, as_set), within=WITHIN_S)
    for node in alive:
        nodes.stop_and_start(node)
        for internal in PREFIXES:
            wire.until(lambda of=internal: _whole(wire, of, everyone), within=WITHIN_S, what=f"{internal} is in sync")
    await_leaders(wire, of_all=True)
    _must_outlive(wire, nodes, topic, rng.choice(alive), everyone)


def _must_outlive(wire, nodes, topic, lost, everyone):
    """What is committed before another node is dead is there while it is, and more is committed."""
    groups, producers = [wire.name("g") for _ in range(NAMES)], [wire.producer(wire.name("x")) for _ in range(NAMES)]
    for number, group in enumerate(groups):
        wire.commit(group, topic, offset=number).must_succeed()
    for producer in producers:
        _transaction(producer, topic, "before")
    nodes.kill(lost)
    left = [node for node in everyone if node != lost]
    for node in left:
        wire.until(
            lambda node=node: _brokers(wire, node) == {*left} and _is_led(wire, topic, node, left),
            within=WITHIN_S,
            what=f"node {node} knows that node {lost} leads nothing",
        )
    wire.refresh_metadata(topic)
    for number, group in enumerate(groups):
        wire.forget_coordinator(group, GROUP)
        wire.committed(group, topic).must_be(number)
        wire.commit(group, topic, offset=number + 1).must_succeed()
        wire.committed(group, topic).must_be(number + 1)
    for producer in producers:
        wire.forget_coordinator(producer.transactional_id, TRANSACTION)
        producer.start().must_succeed()
        _transaction(producer, topic, "since")
    wire.await_settled(topic, within=WITHIN_S)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*["before"] * NAMES, *["since"] * NAMES)


def _transaction(producer, topic, value):
    producer.send(topic, value).must_succeed()
    producer.commit().must_succeed()


def _is_led(wire, topic, node, left):
    """All that this is about, as a node shows it."""
    return all(one.leader_id in left for name in (topic, *PREFIXES) for one in _parts(wire, name, node))


def _placement_set(wire, prefix):
    """The partitions and replicas that the settings of the brokers want; None for what they do not say."""
    found = (wire.setting(f"{prefix}.{what}") for what in (COUNT, FACTOR))
    return tuple(None if value is None else int(value) for value in found)


def _brokers(wire, node):
    return {row.node_id for row in wire.metadata(to=node).struct.brokers}


def _parts(wire, internal, node):
    rows = wire.metadata(all_topics=True, to=node).struct.topics
    return next((row.partitions for row in rows if row.name == internal and not row.error_code), [])


def _whole(wire, internal, everyone):
    """As each node shows it."""
    shown = [_parts(wire, internal, node) for node in everyone]
    return all(parts and all({*one.isr_nodes} == {*one.replica_nodes} for one in parts) for parts in shown)


def _must_be(wire, internal, everyone, as_set):
    key, kind = wire.name("asked"), GROUP if internal == OFFSETS_TOPIC else TRANSACTION
    wire.ask(request("FindCoordinator", key=key, key_type=kind, coordinator_keys=[key])).examined = True
    for node in everyone:
        parts = _parts(wire, internal, node)
        placed_on = {one.partition_index: one.replica_nodes for one in parts}
        found = (len(parts), *{len({*on}) for on in placed_on.values()})
        wanted = tuple(mine if mine is not None else theirs for mine, theirs in zip(as_set, found, strict=False))
        wire.must(found == wanted, f"{internal} has its partitions on {placed_on}; the settings say {wanted}")
    wire.must(_whole(wire, internal, everyone), f"not every replica of {internal} is in sync")
