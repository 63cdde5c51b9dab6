"""What coordinators answer when nothing that they write is replicated in time: errors that their clients know."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest, await_answers
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.partition.coordinators_alone import (
    ALONE,
    GROUP,
    TRANSACTION,
    assignment,
    coordinated_by,
    end,
    end_version,
    first_heartbeat,
    offset_commit,
    offset_of_transaction,
    one_more_partition,
)
from brokertrial.suites.cases.replication._roles import WITHIN_S, placed
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors
from brokertrial.wire.messages import request

AGAIN = (errors.COORDINATOR_NOT_AVAILABLE, errors.COORDINATOR_LOAD_IN_PROGRESS, errors.NOT_COORDINATOR)
WAITS_MS, WAITS_S = 4_000, 9
"""Kafka's transaction coordinator waits for followers as long as the transaction may last, that of groups 5 s."""


@case(
    "partition/transactions-refused-alone",
    guarantees=["txn-021", "txn-011", "grp-016"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "EndTxn": 0, "AddPartitionsToTxn": 0, "AddOffsetsToTxn": 0},
    detects=["B87"],
)
def its_clients_ask_again(wire, nodes, rng):
    """What a transaction coordinator could not replicate in time it MUST refuse as a coordinator does that is not
    available, is loading or is another (15, 14, 16), or as a transaction that is still changed (51): with the error of
    its log a producer would end that has to ask again. Once its log is replicated each of them MUST go on.

    InitProducerId of a new id and of one that is in use, a partition and a group that join a transaction, a commit and
    an abort.
    """
    node, other = rng.sample(wire.nodes, 2)
    topic, more = placed(wire, "t", [other], **ALONE), placed(wire, "more", [other], **ALONE)
    names = [coordinated_by(wire, node, TRANSACTION) for _ in range(6)]
    again, joins, adds, commits, aborts = (wire.producer(name, timeout_ms=WAITS_MS) for name in names[1:])
    for producer in (joins, adds, commits, aborts):
        producer.send(topic, producer.transactional_id).must_succeed()
    ends = end_version(wire)
    asked = [
        *((_an_id(name), _drawn(wire, rng, "InitProducerId")) for name in names[:2]),
        (one_more_partition(joins, more), _drawn(wire, rng, "AddPartitionsToTxn", up_to=3)),
        (_one_more_group(wire, adds), _drawn(wire, rng, "AddOffsetsToTxn", up_to=3)),
        *(
            (one, _drawn(wire, rng, "EndTxn", since=ends if ends > 4 else 0, up_to=ends))
            for one in _ends(commits, aborts)
        ),
    ]
    _must_be_asked_again(wire, nodes, node, asked, (*AGAIN, errors.CONCURRENT_TRANSACTIONS))
    for producer in (again, joins, adds, commits, aborts, wire.producer(names[0])):
        producer.start()
    wire.await_settled(topic, within=WITHIN_S)
    before = wire.read_all(topic, isolation=COMMITTED).values
    again.send(topic, "again").must_succeed()
    again.commit().must_succeed()
    wire.await_settled(topic, within=WITHIN_S)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*before, "again")


@case(
    "partition/groups-refused-alone",
    guarantees=["grp-016", "cmt-017", "cmt-002"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "OffsetCommit": 2, "JoinGroup": 0, "TxnOffsetCommit": 3, "ConsumerGroupHeartbeat": 0},
    features={"group.version": 1},
    detects=["B87"],
)
def its_members_ask_again(wire, nodes, rng):
    """What a group coordinator could not replicate in time it MUST refuse as a coordinator does that is not available,
    is loading or is another (15, 14, 16), never with the error of its log, which members and administrators do not
    expect. Once its log is replicated it MUST serve them again.

    An offset, one of a transaction, an assignment, a member of a KIP-848 group, offsets and a group that are deleted.
    Coordinators of before group.version 1 answered otherwise.
    """
    node, other = rng.sample(wire.nodes, 2)
    topic = placed(wire, "t", [other], **ALONE)
    commits, assigns, transacts, forgets, ends, consumes = (coordinated_by(wire, node, GROUP) for _ in range(6))
    for group in (commits, transacts, forgets, ends):
        wire.commit(group, topic, offset=1).must_succeed()
    member = wire.member(assigns, rebalance_timeout_ms=60_000, session_timeout_ms=30_000)
    member.join().must_succeed()
    producer = wire.producer(coordinated_by(wire, node, TRANSACTION))
    wire.add_offsets(producer.transactional_id, producer.id, producer.epoch, transacts).must_succeed()
    asked = [
        (offset_commit(wire, commits, topic), _drawn(wire, rng, "OffsetCommit", since=2)),
        (assignment(member), _drawn(wire, rng, "SyncGroup")),
        (
            offset_of_transaction(wire, producer, transacts, topic),
            _drawn(wire, rng, "TxnOffsetCommit", since=3, up_to=4),
        ),
        (_offsets_deleted(forgets, topic), _drawn(wire, rng, "OffsetDelete")),
        (request("DeleteGroups", groups_names=[ends]), _drawn(wire, rng, "DeleteGroups")),
        (first_heartbeat(wire, consumes, topic), _drawn(wire, rng, "ConsumerGroupHeartbeat")),
    ]
    _must_be_asked_again(wire, nodes, node, asked, AGAIN)
    wire.forget_coordinator(commits)
    wire.commit(commits, topic, offset=3).must_succeed()
    wire.committed(commits, topic).must_be(3)
    producer.start()
    wire.eventually(lambda: wire.committed(transacts, topic).must_be(1), within=WITHIN_S)
    wire.delete_offsets(forgets, [(topic, 0)]).must_succeed()
    wire.committed(forgets, topic).must_be(-1)


def _must_be_asked_again(wire, nodes, node, asked, allowed):
    with apart(nodes, node, "brokers"):
        waiting = [OpenRequest(wire, node, one, f"{number}", version) for number, (one, version) in enumerate(asked)]
        await_answers(waiting, WAITS_S, 0.2)
    for one in waiting:
        with wire.part(one.api):
            if one.answered:
                found = one.response.error
                one.response.must(
                    found in allowed, f"it is answered with {found}; a coordinator that cannot write says {allowed}"
                )
    if not any(one.answered for one in waiting):
        wire.unclear("no answer came while the node replicated nothing", "unobserved")
    await_answers(waiting, WITHIN_S, 1)


def _drawn(wire, rng, api, since=0, up_to=99):
    return rng.choice([version for version in wire.versions(api) if since <= version <= up_to])


def _an_id(name):
    return request("InitProducerId", transactional_id=name, transaction_timeout_ms=WAITS_MS)


def _ends(commits, aborts):
    """A commit of the one and an abort of the other."""
    abort = end(aborts)
    abort.committed = False
    return end(commits), abort


def _one_more_group(wire, producer):
    return request(
        "AddOffsetsToTxn",
        transactional_id=producer.transactional_id,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        group_id=wire.name("g"),
    )


def _offsets_deleted(group, topic):
    rows = [{"name": topic, "partitions": [{"partition_index": 0}]}]
    return request("OffsetDelete", group_id=group, topics=rows)
