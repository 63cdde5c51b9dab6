"""Coordinators that wait for a follower of their log when another node is elected for it: clients look for that one."""

from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest, await_answers
from brokertrial.suites.cases.partition._replicas import NEEDS, REPLICATED_S
from brokertrial.suites.cases.partition.coordinators_alone import (
    ALONE,
    GROUP,
    TRANSACTION,
    assignment,
    end_version,
    first_heartbeat,
    offset_commit,
    offset_of_transaction,
    one_more_partition,
)
from brokertrial.suites.cases.partition.refused_alone import (
    AGAIN,
    _an_id,
    _drawn,
    _ends,
    _offsets_deleted,
    _one_more_group,
)
from brokertrial.suites.cases.replication._handing_over import STATE_TOPIC
from brokertrial.suites.cases.replication._led_in_turn import APIS as MOVES
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead, shown
from brokertrial.suites.cases.replication._roles import WITHIN_S, placed
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.apart import apart
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, coordinator_partition, names_in
from brokertrial.wire import errors
from brokertrial.wire.messages import request

LONG_MS = 60_000


@case(
    "partition/transactions-of-a-deposed-coordinator",
    guarantees=["txn-021", "txn-011", "grp-016"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "EndTxn": 0, "AddPartitionsToTxn": 0, "AddOffsetsToTxn": 0, **MOVES},
    detects=["B160"],
)
def its_clients_go_to_the_next(wire, nodes, rng):
    """What a transaction coordinator still waits to have replicated when another node is elected for its log it MUST
    refuse as one that is not the coordinator, is not available or is loading (16, 15, 14), or as a transaction that is
    still changed (51): with the error of its log a producer would end that has to look for the next. There each of them
    MUST go on.

    InitProducerId of a new id and of one that is in use, a partition and a group that join a transaction, a commit and
    an abort; all in one partition of the log.
    """
    deposed = _Deposed(wire, nodes, rng, STATE_TOPIC, TRANSACTION, 6)
    here, more = (placed(wire, what, [deposed.new], **ALONE) for what in ("t", "more"))
    names = deposed.names
    again, joins, adds, commits, aborts = (wire.producer(name, timeout_ms=LONG_MS) for name in names[1:])
    for producer in (joins, adds, commits, aborts):
        producer.send(here, producer.transactional_id).must_succeed()
    ends = end_version(wire)
    deposed.must_send_on(
        [
            *((_an_id(name), _drawn(wire, rng, "InitProducerId")) for name in names[:2]),
            (one_more_partition(joins, more), _drawn(wire, rng, "AddPartitionsToTxn", up_to=3)),
            (_one_more_group(wire, adds), _drawn(wire, rng, "AddOffsetsToTxn", up_to=3)),
            *(
                (one, _drawn(wire, rng, "EndTxn", since=ends if ends > 4 else 0, up_to=ends))
                for one in _ends(commits, aborts)
            ),
        ],
        (*AGAIN, errors.CONCURRENT_TRANSACTIONS),
    )
    for producer in (again, joins, adds, commits, aborts, wire.producer(names[0])):
        producer.start()
    wire.await_settled(here, within=WITHIN_S)
    before = wire.read_all(here, isolation=COMMITTED).values
    again.send(here, "again").must_succeed()
    again.commit().must_succeed()
    wire.await_settled(here, within=WITHIN_S)
    wire.read_all(here, isolation=COMMITTED).must_hold(*before, "again")


@case(
    "partition/groups-of-a-deposed-coordinator",
    guarantees=["grp-016", "cmt-017", "cmt-002"],
    needs=NEEDS,
    apis={
        "CreateTopics": 5,
        "OffsetCommit": 2,
        "JoinGroup": 0,
        "TxnOffsetCommit": 3,
        "ConsumerGroupHeartbeat": 0,
        **MOVES,
    },
    features={"group.version": 1},
    detects=["B160"],
)
def its_members_go_to_the_next(wire, nodes, rng):
    """What a group coordinator still waits to have replicated when another node is elected for its log it MUST refuse
    as one that is not the coordinator, is not available or is loading (16, 15, 14), never with the error of its log,
    which members and administrators do not expect. There each of them MUST be served.

    An offset, one of a transaction, an assignment, a member of a KIP-848 group, offsets and a group that are deleted;
    all in one partition of the log.
    """
    deposed = _Deposed(wire, nodes, rng, OFFSETS_TOPIC, GROUP, 6)
    topic = placed(wire, "t", [deposed.new], **ALONE)
    commits, assigns, transacts, forgets, ends, consumes = deposed.names
    for group in (commits, transacts, forgets, ends):
        wire.commit(group, topic, offset=1).must_succeed()
    member = wire.member(assigns, rebalance_timeout_ms=60_000, session_timeout_ms=30_000)
    member.join().must_succeed()
    producer = wire.producer(wire.name("x"))
    wire.add_offsets(producer.transactional_id, producer.id, producer.epoch, transacts).must_succeed()
    deposed.must_send_on(
        [
            (offset_commit(wire, commits, topic), _drawn(wire, rng, "OffsetCommit", since=2)),
            (assignment(member), _drawn(wire, rng, "SyncGroup")),
            (
                offset_of_transaction(wire, producer, transacts, topic),
                _drawn(wire, rng, "TxnOffsetCommit", since=3, up_to=4),
            ),
            (_offsets_deleted(forgets, topic), _drawn(wire, rng, "OffsetDelete")),
            (request("DeleteGroups", groups_names=[ends]), _drawn(wire, rng, "DeleteGroups")),
            (first_heartbeat(wire, consumes, topic), _drawn(wire, rng, "ConsumerGroupHeartbeat")),
        ],
        AGAIN,
    )
    for group in deposed.names:
        wire.forget_coordinator(group)
    wire.commit(commits, topic, offset=3).must_succeed()
    wire.committed(commits, topic).must_be(3)
    producer.start()
    wire.eventually(lambda: wire.committed(transacts, topic).must_be(1), within=WITHIN_S)
    wire.delete_offsets(forgets, [(topic, 0)]).must_succeed()
    wire.committed(forgets, topic).must_be(-1)


class _Deposed:
    """A coordinator that leads a partition of its log, in which these names lie; who is next, and who lags."""

    def __init__(self, wire, nodes, rng, log, kind, count):
        self.wire, self.nodes, self.log = wire, nodes, log
        first = wire.name("on")
        self.node = wire.coordinator(first, kind)
        self.new, self.lagging = rng.sample([node for node in wire.nodes if node != self.node], 2)
        (row,) = wire.metadata(log, to=self.node).struct.topics or [None]
        if row is None or any(len(part.replica_nodes) < len(wire.nodes) for part in row.partitions):
            wire.not_applicable(f"{log} is not shown, or not on each node: it is not known where it is led")
        partitions = len(row.partitions)
        self.index = coordinator_partition(first, partitions)
        self.names = [*islice(names_in(wire, self.index, partitions), count)]
        wire.until(
            lambda: len(shown(wire, log, self.node, self.index).isr_nodes) == len(wire.nodes),
            within=WITHIN_S,
            what=f"every replica of {log}-{self.index} is in sync",
        )

    def must_send_on(self, asked, allowed):
        """These are asked of it, and wait for the one that lags; then the other is elected."""
        wire, nodes = self.wire, self.nodes
        with apart(nodes, self.lagging, "brokers"):
            waiting = [
                OpenRequest(wire, self.node, one, f"{number}", version) for number, (one, version) in enumerate(asked)
            ]
            wire.rest(REPLICATED_S)
            comes_to_lead(wire, self.log, [self.new, self.node, self.lagging], self.new, self.index)
            await_answers(waiting, WITHIN_S, 1)
        for one in waiting:
            with wire.part(one.api):
                if one.answered and not one.acknowledged:
                    found = one.response.error
                    one.response.must(
                        found in allowed, f"it is answered with {found}; a coordinator that is deposed says {allowed}"
                    )
        if all(one.acknowledged or not one.answered for one in waiting):
            wire.unclear("nothing waited when the other node was elected", "unobserved")
