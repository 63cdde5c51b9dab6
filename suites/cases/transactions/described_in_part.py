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
    """One DescribeTransactions MUST return for each transactional id its own producer, epoch, timeout, state and
    partitions: one that is open, one that has ended, one that has begun nothing, and TRANSACTIONAL_ID_NOT_FOUND (105)
    for one that does not exist. The open one MUST have a start, and what has begun nothing MUST NOT.
    """
    node = wire.coordinator(transactional_id, kind=1)
    names = [name for name in (wire.name(f"x{n}") for n in range(60)) if wire.coordinator(name, kind=1) == node]
    if len(names) < 3:
        wire.unclear(f"no 3 of 60 transactional ids have the coordinator of {transactional_id}")
    ended, idle, absent = names[:3]
    timeouts = {transactional_id: 20_000, ended: 25_000, idle: 30_000}
    producers = {name: wire.producer(name, timeout_ms=ms) for name, ms in timeouts.items()}
    for _ in range(3):
        producers[idle].start()
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
            (row.producer_id, row.producer_epoch),
            row.transaction_timeout_ms,
            [(part.topic, list(part.partitions)) for part in row.topics],
        )
        for row in answer.struct.transaction_states
    }
    wanted = {
        name: (0, state, (producers[name].id, producers[name].epoch), timeouts[name], parts)
        for name, state, parts in (
            (transactional_id, "Ongoing", [(topic, [0])]),
            (ended, "CompleteCommit", []),
            (idle, "Empty", []),
        )
    }
    missing = found.pop(absent, None)
    answer.must(found == wanted, f"the transactions are {found}; they must be {wanted}", "transaction_states")
    begun = {row.transactional_id for row in answer.struct.transaction_states if row.transaction_start_time_ms > 0}
    answer.must(begun <= {transactional_id, ended} and transactional_id in begun, f"{begun} have a start")
    answer.must(
        missing is not None and missing[0] == errors.TRANSACTIONAL_ID_NOT_FOUND,
        f"of an id that there is not it returns {missing}; it must be refused (105)",
        "transaction_states",
    )
