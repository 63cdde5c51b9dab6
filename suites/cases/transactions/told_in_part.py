"""DescribeTransactions of several ids: each is described separately."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request


@case(
    "transactions/described-in-part",
    guarantee="txn-026",
    apis={"DescribeTransactions": 0, "InitProducerId": 0},
    detects=["Q01", edit_answer("transaction_states[].error_code", set=0, api="DescribeTransactions")],
)
def each_transaction_of_a_request_is_described_for_itself(wire, topic, transactional_id):
    """One DescribeTransactions MUST return for each transactional id its own producer, state and partitions: one that
    is open, one that has ended, one that has begun nothing, and TRANSACTIONAL_ID_NOT_FOUND (105) for one that does not
    exist.
    """
    node = wire.coordinator(transactional_id, kind=1)
    names = [name for name in (wire.name(f"x{n}") for n in range(60)) if wire.coordinator(name, kind=1) == node]
    if len(names) < 3:
        wire.unclear(f"no 3 of 60 transactional ids have the coordinator of {transactional_id}")
    ended, idle, absent = names[:3]
    producers = {name: wire.producer(name) for name in (transactional_id, ended, idle)}
    producers[transactional_id].send(topic, "a").must_succeed()
    producers[ended].send(topic, "b").must_succeed()
    producers[ended].commit().must_succeed()
    wire.until(
        lambda: wire.describe_transaction(ended).at("transaction_states[0].transaction_state") == "CompleteCommit",
        within=20,
        what="the commit is complete",
    )
    asked = [absent, ended, transactional_id, idle]
    answer = wire.ask(request("DescribeTransactions", transactional_ids=asked), to=node)
    found = {
        row.transactional_id: (
            row.error_code,
            row.transaction_state,
            row.producer_id,
            [(part.topic, list(part.partitions)) for part in row.topics],
        )
        for row in answer.struct.transaction_states
    }
    wanted = {
        transactional_id: (0, "Ongoing", producers[transactional_id].id, [(topic, [0])]),
        ended: (0, "CompleteCommit", producers[ended].id, []),
        idle: (0, "Empty", producers[idle].id, []),
    }
    missing = found.pop(absent, None)
    answer.must(found == wanted, f"the transactions are {found}; they must be {wanted}", "transaction_states")
    answer.must(
        missing is not None and missing[0] == errors.TRANSACTIONAL_ID_NOT_FOUND,
        f"of an id that there is not it tells {missing}; it must be refused (105)",
        "transaction_states",
    )
