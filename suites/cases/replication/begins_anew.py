"""Replicas that were away until all that they had was deleted: they begin anew, and know nothing of before."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._led_in_turn import APIS, comes_to_lead
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import COMMITTED, batch

COPIES = {"min.insync.replicas": "2"}
TRANSACTION = 1
OPEN_SINCE = "topics[0].partitions[0].active_producers"


@case(
    "replication/begins-anew-without-old-transactions",
    guarantees=["txn-004", "txn-001", "offs-001", "adm-011", "txn-026"],
    needs=["three-nodes", "leaders", "topic-settings", "kill", "terminate", "restart"],
    apis={"CreateTopics": 5, "DeleteRecords": 0, "InitProducerId": 0, "EndTxn": 0, **APIS},
    detects=["B88"],
)
def no_transaction_of_before_is_open(wire, nodes, rng):
    """A replica that was lost while transactions were open, and comes back when they were ended and all that it has was
    deleted at the leader, MUST go by what it is given then: once it leads, what is committed is stable to its end,
    read_committed consumers get every record, no transaction is described as open, and the next ones are open and
    ended as they are asked for.

    It leads or follows when it is stopped or killed; one transaction is committed meanwhile, one is aborted.
    """
    away, *others = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", rng.choice(([away, *others], [*others, away])), **COPIES)
    all_in_sync(wire, topic)
    plain, commits, aborts = wire.producer(), wire.producer(wire.name("x")), wire.producer(wire.name("y"))
    wire.produce(topic, batch("old")).must_be_at(0)
    for producer in rng.sample([plain, commits, aborts], 3):
        producer.send(topic, "old", "old").must_succeed()
    rng.choice((nodes.kill, nodes.terminate))(away)
    asked = others[0]
    wire.until(
        lambda: away not in _shown(wire, topic, asked).isr_nodes and _shown(wire, topic, asked).leader_id in others,
        within=WITHIN_S,
        what=f"node {away} is not in sync",
    )
    wire.refresh_metadata(topic)
    for producer in (commits, aborts):
        wire.forget_coordinator(producer.transactional_id, TRANSACTION)
    commits.commit().must_succeed()
    aborts.abort().must_succeed()
    wire.await_settled(topic, within=WITHIN_S)
    start = wire.log_end(topic) + rng.randint(0, 3)
    for number in range(5):
        wire.produce(topic, batch(f"{number}")).must_succeed()
    wire.delete_records(topic, offset=start).must_succeed()
    left = wire.read_all(topic, offset=start, isolation=COMMITTED).values

    nodes.start(away)
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    comes_to_lead(wire, topic, [away, *others], wire.controller)
    wire.refresh_metadata(topic)
    wire.produce(topic, batch("new")).must_succeed()
    _must_all_be_stable(wire, topic, start, [*left, b"new"])
    commits, aborts = wire.producer(wire.name("x")), wire.producer(wire.name("y"))
    opened = aborts.send(topic, "aborted").must_succeed().offset
    commits.send(topic, "committed").must_succeed()
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=opened)
    commits.commit().must_succeed()
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=opened)
    aborts.abort().must_succeed()
    plain.send(topic, "plain").must_succeed()
    wire.await_settled(topic, within=WITHIN_S)
    _must_all_be_stable(wire, topic, start, [*left, b"new", b"committed", b"plain"])


def _shown(wire, topic, asked):
    return wire.metadata(topic, to=asked).struct.topics[0].partitions[0]


def _must_all_be_stable(wire, topic, start, values):
    wire.list_offsets(topic, at="earliest").must_name(offset=start)
    end = wire.log_end(topic)
    wire.eventually(lambda: wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=end), within=10)
    wire.read_all(topic, offset=start, isolation=COMMITTED).must_hold(*values)
    if wire.versions("DescribeProducers"):
        answer = wire.describe_producers(topic).must_succeed()
        since = [row.current_txn_start_offset for row in answer.at(OPEN_SINCE) if row.current_txn_start_offset >= 0]
        answer.must(not since, f"it describes transactions that are open since {since}; none is", OPEN_SINCE)
