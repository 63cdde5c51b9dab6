"""A transaction whose end is decided and not yet carried out when its coordinator crashes."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, placed
from brokertrial.suites.probe import COMMITTED

TRANSACTION = 1
PATIENT_MS = 60_000


@case(
    "transactions/decided-outlives-its-coordinator",
    guarantees=["txn-011", "txn-001"],
    needs=["three-nodes", "leaders", "kill", "terminate", "restart", "topic-settings"],
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0, "CreateTopics": 0},
    detects=["M18b"],
)
def a_decided_commit_is_carried_out_by_the_next_coordinator(wire, transactional_id, nodes):
    """A commit that was acknowledged MUST take effect everywhere although the coordinator crashed before it had written
    the markers to every partition.

    The partition lacks one of the two replicas that it needs, and so takes no marker, from before the commit until
    after the crash.
    """
    producer = wire.producer(transactional_id, timeout_ms=PATIENT_MS)
    wire.forget_coordinator(transactional_id, TRANSACTION)
    coordinator = wire.coordinator(transactional_id, TRANSACTION)
    first, second = (node for node in nodes.ids if node != coordinator)
    topic = placed(wire, "apart", [first, second], **{"min.insync.replicas": "2"})
    all_in_sync(wire, topic)
    producer.send(topic, "a").must_succeed()
    nodes.terminate(second)
    producer.commit().must_succeed()
    nodes.crash(coordinator)

    nodes.start(second)
    wire.await_topic(topic)
    wire.await_settled(topic, within=40)
    wire.read_all(topic, isolation=COMMITTED).must_hold("a")
