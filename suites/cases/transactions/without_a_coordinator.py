"""How a producer is answered while its partition has a leader but no coordinator can verify the transaction (KIP-890).
"""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, placed
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.core import LEADER_UNSETTLED
from brokertrial.suites.probe.produce import UNVERIFIED
from brokertrial.wire import errors

ADDED_FIRST = 11  # the last Produce that adds no partition by itself
TRANSACTION = 1
VERIFICATION = "transaction.partition.verification.enable"
ALONE = {"min.insync.replicas": "1"}
SENT_AGAIN = (*UNVERIFIED, *LEADER_UNSETTLED, errors.REQUEST_TIMED_OUT)


@case(
    "transactions/written-while-nobody-coordinates",
    guarantees=["txn-020", "err-003"],
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0, "Produce": 3},
    needs=["three-nodes", "leaders", "topic-settings", "kill", "restart"],
    since="3.6 (KIP-890)",
    detects=["K23"],
)
def a_batch_that_cannot_be_verified_is_sent_again(wire, nodes, transactional_id):
    """While the coordinator of a transaction is dead, a Produce up to v11 to a partition that was added MUST be
    accepted, or refused with a code on which every producer sends again, such as 19; once there is another coordinator
    it MUST be accepted, once, and be decided with the transaction.
    """
    if wire.setting(VERIFICATION) == "false":
        wire.not_applicable(f"{VERIFICATION} is false on this cluster", "refused-by-settings")
    producer = wire.producer(transactional_id)
    coordinator = wire.coordinator(transactional_id, TRANSACTION)
    topic = placed(wire, "elsewhere", [node for node in wire.nodes if node != coordinator], **ALONE)
    producer.add(topic, 0).must_succeed()
    first = producer.batch("a", sequence=0)
    version = min(ADDED_FIRST, wire.versions("Produce")[-1])
    nodes.kill(coordinator)

    def taken():
        wire.refresh_metadata(topic)
        answer = wire.produce(
            topic, first, transactional_id=transactional_id, version=version, via="early", retry=False
        )
        if answer.error == errors.NONE:
            return answer
        answer.must_be_refused(*SENT_AGAIN)
        return None

    wire.until(taken, within=WITHIN_S, what="the batch is taken").must_be_at(0)
    wire.forget_coordinator(transactional_id, TRANSACTION)
    producer.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("a")
    nodes.start(coordinator)
