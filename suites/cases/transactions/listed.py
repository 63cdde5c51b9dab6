"""Transactions as they are listed, with each filter, and described at each step (KIP-664, KIP-994)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

LISTS = {"AddPartitionsToTxn": 0, "EndTxn": 0, "ListTransactions": 0, "DescribeTransactions": 0}
ROW = "transaction_states[0]"
WITHIN_S = 10
OPEN_MS = 400


@case(
    "transactions/listed-by-each-filter",
    guarantee="txn-026",
    apis=LISTS,
    detects=["Q09", edit_answer("transaction_states[0]", drop=True, api="ListTransactions", skip=2)],
)
def each_filter_lists_exactly_what_it_names(wire, topic, transactional_id):
    """ListTransactions MUST list exactly the transactions in one of the states and of one of the producers that it is
    asked for, all where it names none, and MUST say which of the states it does not know.

    Four transactional ids: one without a transaction, one open, one committed, one aborted.
    """
    empty, open_, committed, aborted = (wire.producer(wire.name(name)) for name in "abcd")
    for producer in (open_, committed, aborted):
        producer.send(topic, "a record").must_succeed()
    committed.commit().must_succeed()
    aborted.abort().must_succeed()
    states = {empty: "Empty", open_: "Ongoing", committed: "CompleteCommit", aborted: "CompleteAbort"}
    for producer, state in states.items():
        wire.eventually(
            lambda producer=producer, state=state: wire.describe_transaction(producer.transactional_id).must_have(
                f"{ROW}.transaction_state", state
            ),
            within=WITHIN_S,
        )

    ids = {producer: producer.id for producer in states}
    for asked, wanted in (
        ({}, list(states)),
        ({"state_filters": ["Ongoing"]}, [open_]),
        ({"state_filters": ["CompleteAbort", "Empty"]}, [empty, aborted]),
        ({"state_filters": ["PrepareCommit"]}, []),
        ({"producer_id_filters": [ids[committed]]}, [committed]),
        ({"producer_id_filters": [ids[empty], ids[open_], ids[aborted]]}, [empty, open_, aborted]),
        ({"state_filters": ["Ongoing"], "producer_id_filters": [ids[empty], ids[open_]]}, [open_]),
        ({"state_filters": ["Ongoing"], "producer_id_filters": [ids[empty]]}, []),
    ):
        with wire.part(", ".join(asked) or "no filter"):
            _must_list(wire, states, asked, wanted)
    unknown = wire.ask(request("ListTransactions", state_filters=["Ongoing", "Nonsense"]))
    unknown.must_have("unknown_state_filters", ["Nonsense"])


@case(
    "transactions/listed-by-duration",
    guarantee="txn-026",
    apis={**LISTS, "ListTransactions": 1},
    detects=[edit_answer("transaction_states[]", drop=True, api="ListTransactions")],
)
def a_duration_lists_what_is_open_for_longer(wire, topic, transactional_id):
    """ListTransactions with a duration MUST list the transactions that are open for longer, and no others; a negative
    duration is none (KIP-994).
    """
    producer = wire.producer(transactional_id, timeout_ms=60_000)
    producer.send(topic, "open").must_succeed()
    states = {producer: "Ongoing"}
    _must_list(wire, states, {"duration_filter": -1}, [producer])
    _must_list(wire, states, {"duration_filter": 3_600_000}, [])
    wire.eventually(lambda: _must_list(wire, states, {"duration_filter": 300}, [producer]), within=WITHIN_S)


@case(
    "transactions/listed-by-pattern",
    guarantee="txn-026",
    apis={**LISTS, "ListTransactions": 2},
    detects=[edit_answer("transaction_states[]", drop=True, api="ListTransactions")],
)
def a_pattern_lists_the_ids_that_it_matches(wire):
    """ListTransactions with a pattern MUST list the transactional ids that it matches as a whole, all where it is empty
    or null, and MUST refuse an invalid pattern (128, KIP-1152).
    """
    one, two, three = (wire.producer(wire.name(name)) for name in "abc")
    names = {producer: producer.transactional_id for producer in (one, two, three)}
    states = dict.fromkeys(names, "Empty")
    for pattern, wanted in (
        (None, [one, two, three]),
        ("", [one, two, three]),
        (f"{names[one]}|{names[three]}", [one, three]),
        (f"{names[two][:-1]}.", [two]),
        (names[two][:-1], []),
        (names[two][1:], []),
    ):
        with wire.part(f"pattern {'null' if pattern is None else 'empty' if not pattern else len(wanted)}"):
            _must_list(wire, states, {"transactional_id_pattern": pattern}, wanted)
    wire.ask(request("ListTransactions", transactional_id_pattern="(")).must_be_refused(
        errors.INVALID_REGULAR_EXPRESSION
    )


@case(
    "transactions/described-step-by-step",
    guarantee="txn-026",
    apis=LISTS,
    needs=["partitions"],
    detects=["Q01", edit_answer(f"{ROW}.topics", set=[], api="DescribeTransactions")],
)
def a_transaction_is_described_at_each_step(wire, topic_of, transactional_id):
    """DescribeTransactions MUST return the partitions and the start time of a transaction: the time stays while
    partitions are added; with the end the partitions are gone, and the next transaction has its own alone.
    """
    topic, other = topic_of(partitions=3), topic_of(what="other")
    producer = wire.producer(transactional_id, timeout_ms=20_000)
    _must_be_described(wire, producer, "Empty", {})
    producer.send(topic, "a", partition=2).must_be_at(0)
    since = _must_be_described(wire, producer, "Ongoing", {topic: [2]})
    producer.send(other, "a").must_be_at(0)
    producer.send(topic, "a", partition=0).must_be_at(0)
    producer.send(topic, "b", partition=2).must_be_at(1)
    now = _must_be_described(wire, producer, "Ongoing", {topic: [0, 2], other: [0]})
    wire.must(now == since, f"the transaction began at {since}, and at {now} after more partitions were added")
    producer.commit().must_succeed()
    wire.eventually(lambda: _must_be_described(wire, producer, "CompleteCommit", {}), within=WITHIN_S)

    producer.send(topic, "c", partition=1).must_be_at(0)
    next_since = _must_be_described(wire, producer, "Ongoing", {topic: [1]})
    wire.must(next_since >= since, f"the transaction began at {next_since}, before the one of {since}")
    producer.abort().must_succeed()
    wire.eventually(lambda: _must_be_described(wire, producer, "CompleteAbort", {}), within=WITHIN_S)


def _must_be_described(wire, producer, state, partitions):
    """What must hold of the description; returns since when the transaction is open."""
    answer = wire.describe_transaction(producer.transactional_id)
    for field, value in (
        ("error_code", 0),
        ("transaction_state", state),
        ("producer_id", producer.id),
        ("transaction_timeout_ms", 20_000),
    ):
        answer.must_have(f"{ROW}.{field}", value)
    held = {row.topic: sorted(row.partitions) for row in answer.at(f"{ROW}.topics")}
    answer.must(held == partitions, f"it holds {held}; it must hold {partitions}", f"{ROW}.topics")
    return answer.at(f"{ROW}.transaction_start_time_ms")


def _must_list(wire, states, asked, wanted):
    """All nodes together list each of those once, in its state; transactions of others do not count."""
    answers = [wire.ask(request("ListTransactions", **asked), to=node).must_succeed() for node in wire.nodes]
    ours = {producer.transactional_id for producer in states}
    listed = sorted(
        (row.transactional_id, row.producer_id, row.transaction_state)
        for answer in answers
        for row in answer.struct.transaction_states
        if row.transactional_id in ours
    )
    must = sorted((producer.transactional_id, producer.id, states[producer]) for producer in wanted)
    wire.must(listed == must, f"it lists {listed}; it must list {must}", *answers)


@case(
    "transactions/open-since-its-first-partition",
    guarantee="txn-026",
    apis={**LISTS, "ListTransactions": 1},
    needs=["partitions"],
    detects=["S12"],
)
def a_transaction_is_open_since_its_first_partition(wire, topic_of, transactional_id):
    """A transaction MUST be as old as its first partition, whatever joins it later: DescribeTransactions returns the
    same start, and ListTransactions finds it by that duration.
    """
    topic = topic_of(partitions=3)
    producer = wire.producer(transactional_id, timeout_ms=60_000)
    producer.send(topic, "first").must_succeed()
    states, began = {producer: "Ongoing"}, wire.now_ms()
    start = wire.describe_transaction(transactional_id).must_succeed().at("transaction_states[0]")
    for partition in (1, 2):
        wire.until(
            lambda partition=partition: wire.now_ms() > began + partition * OPEN_MS + 100,
            within=10,
            what="the transaction is old enough",
        )
        producer.send(topic, "later", partition=partition).must_succeed()
        _must_list(wire, states, {"duration_filter": partition * OPEN_MS}, [producer])
        answer = wire.describe_transaction(transactional_id).must_succeed()
        answer.must_have("transaction_states[0].transaction_start_time_ms", start.transaction_start_time_ms)
