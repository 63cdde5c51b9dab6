"""Coordinators whose own logs are reassigned: led on in a new epoch, taken away for good, and given back."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import ELSEWHERE, WITHIN_S
from brokertrial.suites.cases.replication._roles import NO_NODE, leader_shown, placed, reassign
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, coordinator_partition, make_coordinator_write
from brokertrial.wire.messages import request

STATE_TOPIC = "__transaction_state"
ALONE = {"min.insync.replicas": "1"}
LEADERLESS_S = 2
"""So long the coordinator that leads on meets a partition without a leader."""


REASSIGNS = {"AlterPartitionReassignments": 0, "InitProducerId": 0, "EndTxn": 0}
ON_THREE = ["three-nodes", "leaders", "partitions", "topic-settings"]


@case(
    "transactions/ends-in-a-new-coordinator-epoch",
    guarantees=["txn-011", "txn-021"],
    apis=REASSIGNS,
    needs=[*ON_THREE, "kill", "restart"],
    detects=["D81"],
)
def what_is_decided_is_done_in_the_next_epoch(wire, group, transactional_id, nodes):
    """A transaction that is decided MUST come to its end when the coordinator's log is reassigned so that the
    coordinator stays and leads in a new epoch, though a partition of the transaction has no leader at that time.
    """
    former = wire.coordinator(transactional_id, 1)
    logs = CoordinatorLogs(wire, group, transactional_id, asked=former)
    dead, other = (node for node in wire.nodes if node != former)
    topic = placed(wire, "away", [dead], **ALONE)
    producer = wire.producer(transactional_id, timeout_ms=55_000)
    producer.send(topic, "decided").must_be_at(0)
    nodes.kill(dead)
    wire.until(lambda: leader_shown(wire, topic, former) == NO_NODE, within=WITHIN_S, what="nobody leads its partition")
    producer.commit().must_succeed()
    logs.replicas_become(STATE_TOPIC, [former, other])
    wire.rest(LEADERLESS_S)
    nodes.start(dead)
    logs.replicas_become(STATE_TOPIC, [former, other, dead])
    wire.await_settled(topic, within=WITHIN_S)
    wire.read_all(topic, isolation=COMMITTED).must_hold("decided")


@case(
    "transactions/coordinators-reassigned",
    guarantees=["txn-011", "txn-021", "cmt-002"],
    apis=REASSIGNS | {"OffsetCommit": 2, "OffsetFetch": 1, "DescribeGroups": 0, "DescribeTransactions": 0},
    needs=[*ON_THREE, "kill"],
    detects=["D82"],
)
def who_has_no_replica_sends_clients_on(wire, group, transactional_id, rng):
    """A node that has no replica of a coordinator's log any more MUST send clients to the coordinator, for
    transactions and groups, whatever it is asked; what was committed is found there, an open transaction goes on.
    The same when the log is given back.
    """
    former = wire.coordinator(transactional_id, 1)
    logs = CoordinatorLogs(wire, group, transactional_id, asked=former)
    others = rng.sample([node for node in wire.nodes if node != former], 2)
    topic, sent = placed(wire, "t", [former], **ALONE), []
    producer = wire.producer(transactional_id, timeout_ms=55_000)
    for replicas in (others, [former, *others]):
        sent.append(f"open before it was at {replicas}")
        producer.send(topic, sent[-1]).must_succeed()
        for internal in (STATE_TOPIC, OFFSETS_TOPIC):
            logs.replicas_become(internal, replicas)
        logs.must_be_sent_on([node for node in wire.nodes if node != replicas[0]])
        producer.commit().must_succeed()
        logs.must_have_its_offset(10 + len(sent))
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*sent)


class CoordinatorLogs:
    """A group and a transactional id, and where their coordinators write."""

    def __init__(self, wire, group, transactional_id, asked):
        self.wire, self.group, self.transactional_id, self.asked = wire, group, transactional_id, asked
        self.topic = wire.new_topic()
        self.offset = 10
        wire.commit(group, self.topic, offset=self.offset).must_succeed()

    def replicas_become(self, internal, replicas):
        """Of the partition that this is about; the first of them leads."""
        wire = self.wire
        (row,) = wire.metadata(internal, to=self.asked).struct.topics
        key = self.group if internal == OFFSETS_TOPIC else self.transactional_id
        index = coordinator_partition(key, len(row.partitions))
        reassign(wire, {internal: replicas}, self.asked, index)
        rows = [{"topic": internal, "partitions": [index]}]
        elect = request("ElectLeaders", topic_partitions=rows, timeout_ms=10_000)

        def done():
            rows = wire.metadata(internal, to=self.asked).struct.topics[0].partitions
            found = next(row for row in rows if row.partition_index == index)
            if found.replica_nodes == replicas and found.leader_id != replicas[0]:
                wire.ask(elect, to=self.asked).examined = True  # the next look tells what it did
            return found.replica_nodes == replicas and found.leader_id == replicas[0]

        wire.until(done, within=WITHIN_S, what=f"{internal}-{index} is on {replicas}, led by the first")
        wire.forget_coordinator(self.group)
        wire.forget_coordinator(self.transactional_id, 1)

    def must_be_sent_on(self, nodes):
        """Each of these nodes sends clients to the coordinator, in whatever it is asked."""
        partitions = [{"partition_index": 0, "committed_offset": 99}]
        place = {"name": self.topic, "topic_id": self.wire.topic_id(self.topic)}
        asked = [
            request("DescribeGroups", groups=[self.group]),
            request("OffsetFetch", group_id=self.group, topics=None, groups=[{"group_id": self.group, "topics": None}]),
            request("OffsetCommit", group_id=self.group, topics=[{**place, "partitions": partitions}]),
            request("Heartbeat", group_id=self.group, generation_id=1, member_id="m"),
            request("DescribeTransactions", transactional_ids=[self.transactional_id]),
            request("InitProducerId", transactional_id=self.transactional_id, transaction_timeout_ms=10_000),
        ]
        for node in nodes:
            for one in asked:
                self.wire.eventually(lambda one=one, node=node: self._must_be_sent_on(one, node), within=WITHIN_S)

    def _must_be_sent_on(self, asked, node):
        answer = self.wire.ask(asked, to=node)
        answer.must_be_refused(*ELSEWHERE)

    def must_have_its_offset(self, following):
        """What was committed last is there, and another is taken."""
        make_coordinator_write(self.wire, self.group)
        self.wire.committed(self.group, self.topic).must_be(self.offset)
        self.offset = following
        self.wire.commit(self.group, self.topic, offset=following).must_succeed()
