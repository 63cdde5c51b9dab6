"""Transactions that end while the coordinator of their groups reads what was committed before."""

from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits._long_log import PARTITIONS, TIMES, commit_much
from brokertrial.suites.probe.coordinator_writes import coordinator_partition, names_in
from brokertrial.suites.probe.internal_topics import partitions_shown

OFFSETS = "__consumer_offsets"
TRANSACTIONS, LONGEST_MS, WITHIN_S = 12, 600_000, 60


@case(
    "commits/ended-while-their-log-is-read",
    guarantees=["txn-012", "cmt-002", "txn-011"],
    apis={"OffsetCommit": 2, "OffsetFetch": 7, "AddOffsetsToTxn": 0, "TxnOffsetCommit": 0, "EndTxn": 0},
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["B302"],
)
def what_is_decided_meanwhile_counts(wire, topic_of, nodes, rng):
    """A transaction that ends while the coordinator of its group reads its log MUST bring its offsets into force if it
    commits, and none if it aborts, as soon as the log is read; none of them MUST stay unstable.

    A group that has committed the offsets of 300 partitions 240 times, and twelve transactions with an offset of a
    group of their own each, in the same partition of the offsets topic. They end, by draw, right after the node that
    coordinates these groups was stopped or killed.
    """
    topic, much = topic_of(partitions=PARTITIONS, replicas=1), wire.name("much")
    commit_much(wire, much, topic)
    partitions = partitions_shown(wire, OFFSETS)
    groups = list(islice(names_in(wire, coordinator_partition(much, partitions), partitions), TRANSACTIONS))
    producers = {group: wire.producer(wire.name(f"x{n}"), timeout_ms=LONGEST_MS) for n, group in enumerate(groups)}
    for group, producer in producers.items():
        wire.commit(group, topic, offset=5).must_succeed()
        producer.send_offsets(group, {(topic, 0): 77}).must_succeed()
    rng.choice((nodes.crash, nodes.stop_and_start))(nodes.of_group(much))
    due = {}
    for group in rng.sample(groups, TRANSACTIONS):
        due[group] = rng.choice((77, 5))
        (producers[group].commit() if due[group] == 77 else producers[group].abort()).must_succeed()
    for group, offset in due.items():
        wire.eventually(
            lambda group=group, offset=offset: wire.committed(group, topic, require_stable=True).must_be(offset),
            within=WITHIN_S,
        )
    last = wire.committed_all(much, [(topic, partition) for partition in range(PARTITIONS)]).must_succeed()
    wrong = sorted(partition for (_, partition), offset in last.offsets.items() if offset != TIMES - 1)
    last.must(not wrong, f"{len(wrong)} of {PARTITIONS} partitions have not the offset {TIMES - 1} committed last")
