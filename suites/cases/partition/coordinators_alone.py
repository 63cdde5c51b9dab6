"""Coordinators whose logs are replicated nowhere for a while: what they write alone is no promise."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest, await_answers
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.replication._roles import WITHIN_S, placed
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.apart import apart
from brokertrial.suites.probe.commits import Committed
from brokertrial.suites.probe.preferred_leaders import is_settled
from brokertrial.wire.messages import request

GROUP, TRANSACTION = 0, 1
ALONE_S = 6
"""Longer than a follower that is silent stays in sync, and than a coordinator of groups waits for followers (5 s)."""
NAMES = 60
SHORT_MS, LONG_MS = 1_000, 60_000
ALONE = {"min.insync.replicas": "1"}


@case(
    "partition/transactions-decided-alone",
    guarantees=["txn-011", "txn-001", "txn-021"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "EndTxn": 0, "AddPartitionsToTxn": 0},
    detects=["B16", "B17"],
)
def what_a_coordinator_alone_decides_is_no_decision(wire, nodes, rng):
    """While no follower replicates its log, a transaction coordinator MUST NOT acknowledge an end of a transaction,
    a partition that joins one, nor a producer id, and MUST NOT have transactions ended in partitions, also where their
    time is over. Once its log is replicated again, each of its transactions MUST be ended alike in all its partitions,
    one whose end is acknowledged then as it was asked for.
    """
    node, other = rng.sample(wire.nodes, 2)
    here, too, there = (placed(wire, what, [on], **ALONE) for what, on in (("a", node), ("b", node), ("c", other)))
    names = [coordinated_by(wire, node, TRANSACTION) for _ in range(4)]
    ending, joining, expiring = (
        wire.producer(name, timeout_ms=ms) for name, ms in zip(names[1:], (LONG_MS, LONG_MS, SHORT_MS), strict=True)
    )
    joining.send(too, "joining").must_succeed()
    for producer, value in ((ending, "ending"), (expiring, "expiring")):
        for topic in (here, there):
            producer.send(topic, value).must_succeed()
    with apart(nodes, node, "brokers"):
        waiting = [
            OpenRequest(wire, node, end(ending), names[1], end_version(wire)),
            OpenRequest(wire, node, one_more_partition(joining, there), names[2], 3),
            OpenRequest(wire, node, first_id(names[0]), names[0]),
        ]
        none_is_acknowledged(waiting)
        for topic in (here, there):
            seen = wire.fetch(topic, isolation=COMMITTED, max_wait_ms=100)
            seen.must(not seen.records, f"it returns {seen.values} as committed; no other node knows of an end")
            wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=0)
    await_answers(waiting, WITHIN_S, 1)
    for producer in (ending, joining, expiring):
        producer.start()
    for topic in (here, too, there):
        wire.await_settled(topic, within=WITHIN_S)
    one, another = (wire.read_all(topic, isolation=COMMITTED) for topic in (here, there))
    one.must(
        one.values == another.values,
        f"{one.values} are committed in one partition of the transactions, and {another.values} in the other",
    )
    one.must(
        b"ending" in one.values or not waiting[0].acknowledged,
        f"{one.values} are committed; EndTxn was acknowledged of the transaction that holds `ending`",
    )


@case(
    "partition/groups-changed-alone",
    guarantees=["cmt-002", "cmt-017", "grp-001", "txn-012"],
    needs=[*NEEDS, "kill", "restart"],
    apis={"CreateTopics": 5, "OffsetCommit": 2, "JoinGroup": 0, "TxnOffsetCommit": 3},
    detects=["B19", "B22"],
)
def what_a_group_coordinator_alone_takes_is_no_promise(wire, nodes, rng):
    """While no follower replicates its log, a group coordinator MUST NOT acknowledge an offset, also one of a
    transaction, an assignment, nor a member of a KIP-848 group, and MUST NOT return such an offset. When it is killed
    then, and is back, whoever coordinates the group MUST return the offset that was acknowledged before, or the one
    that was not, and each that coordinates it later the same; the offset of the transaction, which is aborted, MUST be
    gone.
    """
    node, other = rng.sample(wire.nodes, 2)
    topic = placed(wire, "t", [other, node], **ALONE)
    commits, assigns, consumes, transacts = (coordinated_by(wire, node, GROUP) for _ in range(4))
    for group in (commits, transacts):
        wire.commit(group, topic, offset=1).must_succeed()
    member = wire.member(assigns)
    member.join().must_succeed()
    producer = wire.producer(coordinated_by(wire, node, TRANSACTION))
    wire.add_offsets(producer.transactional_id, producer.id, producer.epoch, transacts).must_succeed()
    version = min(4, wire.versions("TxnOffsetCommit")[-1])
    asked = [
        (commits, offset_commit(wire, commits, topic), None),
        (assigns, assignment(member), None),
        (transacts, offset_of_transaction(wire, producer, transacts, topic), version),
    ]
    if wire.versions("ConsumerGroupHeartbeat"):
        asked.append((consumes, first_heartbeat(wire, consumes, topic), None))
    with apart(nodes, node, "brokers"):
        waiting = [OpenRequest(wire, node, one, group, version) for group, one, version in asked]
        shown = OpenRequest(wire, node, offset_fetch(wire, commits, topic), "fetch")
        none_is_acknowledged(waiting)
        shown.await_answer(0.2)
        if shown.acknowledged:
            Committed(shown.response.asked).must_be(1)
        nodes.kill(node)
    nodes.start(node)  # it alone may have been in sync
    wire.forget_coordinator(commits)
    returned = wire.committed(commits, topic).offset
    wire.must(returned in (1, 2), f"the offset is {returned}; 1 was acknowledged, and 2 asked for")
    wire.forget_coordinator(producer.transactional_id, TRANSACTION)
    producer.start()
    wire.until(
        lambda: is_settled(wire, len(wire.nodes), {}) and nodes.of_group(commits) == node,
        within=WITHIN_S,
        what=f"node {node} coordinates {commits} again",
    )
    wire.committed(commits, topic).must_be(returned)
    wire.committed(transacts, topic).must_be(1)


def none_is_acknowledged(waiting):
    """In this time: a refusal is no acknowledgement, nor is it none to be answered."""
    await_answers(waiting, ALONE_S, 0.2)
    for one in waiting:
        if one.answered:
            one.response.must(not one.acknowledged, "it is acknowledged, and no other node has what it changed")


def coordinated_by(wire, node, kind):
    """A new name that this node coordinates."""
    for _ in range(NAMES):
        name = wire.name("on")
        if wire.coordinator(name, kind) == node:
            return name
    wire.not_applicable(f"node {node} coordinates none of {NAMES} names")
    return ""


def end_version(wire):
    """Of producers of transaction.version 2 the newest; of others the one before that."""
    newest = wire.versions("EndTxn")[-1]
    return newest if wire.transaction_version >= 2 else min(4, newest)


def end(producer):
    """EndTxn(commit)."""
    who = {"producer_id": producer.id, "producer_epoch": producer.epoch}
    return request("EndTxn", transactional_id=producer.transactional_id, committed=True, **who)


def one_more_partition(producer, topic):
    """AddPartitionsToTxn as clients send it, up to v3."""
    return request(
        "AddPartitionsToTxn",
        v3_and_below_transactional_id=producer.transactional_id,
        v3_and_below_producer_id=producer.id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[{"name": topic, "partitions": [0]}],
    )


def first_id(name):
    """InitProducerId of a transactional id that was not used before."""
    return request("InitProducerId", transactional_id=name, transaction_timeout_ms=LONG_MS)


def offset_rows(wire, topic):
    """Offset 2 of the first partition."""
    parts = [{"partition_index": 0, "committed_offset": 2, "committed_metadata": ""}]
    return [{"name": topic, "topic_id": wire.topic_id(topic), "partitions": parts}]


def offset_fetch(wire, group, topic):
    """OffsetFetch of the first partition."""
    plain = {"name": topic, "partition_indexes": [0]}
    groups = [{"group_id": group, "topics": [{**plain, "topic_id": wire.topic_id(topic)}]}]
    return request("OffsetFetch", group_id=group, topics=[plain], groups=groups)


def offset_commit(wire, group, topic):
    """OffsetCommit as of an administrator."""
    return request("OffsetCommit", group_id=group, generation_id_or_member_epoch=-1, topics=offset_rows(wire, topic))


def offset_of_transaction(wire, producer, group, topic):
    """TxnOffsetCommit without a member, up to v4."""
    return request(
        "TxnOffsetCommit",
        transactional_id=producer.transactional_id,
        group_id=group,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        generation_id_or_member_epoch=-1,
        topics=offset_rows(wire, topic),
    )


def assignment(member):
    """SyncGroup of the leader, who is alone."""
    return request(
        "SyncGroup",
        group_id=member.group,
        generation_id=member.generation,
        member_id=member.id,
        protocol_type="consumer",
        protocol_name=member.protocol,
        assignments=[{"member_id": member.id, "assignment": b"all"}],
    )


def first_heartbeat(wire, group, topic):
    """ConsumerGroupHeartbeat of a new member."""
    return request(
        "ConsumerGroupHeartbeat",
        group_id=group,
        member_id=wire.name("m"),
        rebalance_timeout_ms=LONG_MS,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )
