"""The topic in which transaction coordinators keep what they know may be deleted: transactional ids begin anew."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits.log_deleted import delete_internal
from brokertrial.suites.cases.replication._handing_over import STATE_TOPIC
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire import errors
from brokertrial.wire.messages import request

IDS, WITHIN_S = 6, 30
APIS = {"DeleteTopics": 1, "InitProducerId": 0, "EndTxn": 0, "ListTransactions": 0, "DescribeTransactions": 0}


@case(
    "transactions/nothing-outlives-their-log",
    guarantees=["txn-026", "txn-029", "adm-006"],
    apis=APIS,
    needs=["started", "terminate", "restart"],
    detects=["D88", "K44"],
)
def ids_begin_anew_with_their_topic(wire, topic, nodes):
    """Once the topic of the transaction coordinators was deleted, ListTransactions MUST succeed and list none from
    before, and DescribeTransactions MUST know none (105). Each transactional id MUST begin anew, commit, and be known
    after a restart. Six ids in all partitions of that topic, twice.
    """
    ids = [wire.name("x") for _ in range(IDS)]
    committed = _commit(wire, ids, topic)
    for _ in range(2):
        delete_internal(wire, STATE_TOPIC)
        wire.eventually(lambda: _must_list_none(wire, ids), within=WITHIN_S)
        for name in ids:
            answer = wire.describe_transaction(name)
            answer.must_be_refused(errors.TRANSACTIONAL_ID_NOT_FOUND)
        committed += _commit(wire, ids, topic)
    nodes.stop_and_start(nodes.of(topic))
    await_leaders(wire, of_all=True)
    for name in ids:
        wire.describe_transaction(name).must_have("transaction_states[0].transaction_state", "CompleteCommit")
    wire.read_all(topic, isolation=COMMITTED).must_hold(*committed)


def _commit(wire, ids, topic):
    """One transaction of each id; returns what they wrote, once each is complete."""
    for name in ids:
        producer = wire.producer(name)
        producer.send(topic, name).must_succeed()
        producer.commit().must_succeed()
    wire.await_settled(topic, within=WITHIN_S)
    return list(ids)


def _must_list_none(wire, ids):
    for node in wire.nodes:
        listed = wire.ask(request("ListTransactions"), to=node).must_succeed()
        left = sorted({row.transactional_id for row in listed.struct.transaction_states} & {*ids})
        listed.must(not left, f"{', '.join(left)} are listed; the log that they were in is deleted")
