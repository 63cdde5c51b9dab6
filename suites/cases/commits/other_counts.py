"""Brokers that are started with other numbers of partitions for the coordinators' topics, which are there already."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED

MANY = 12
COUNTS = {"offsets.topic.num.partitions": "61", "transaction.state.log.num.partitions": "59"}


@case(
    "commits/kept-under-other-counts",
    guarantees=["cmt-002", "txn-021"],
    apis={"OffsetCommit": 2, "OffsetFetch": 1, "InitProducerId": 0, "EndTxn": 0},
    needs=["chosen-settings", "started", "terminate", "restart"],
    detects=["D77"],
)
def who_is_responsible_does_not_change(wire, topic, nodes):
    """A group's committed offsets and a transactional id MUST be found as they were after the brokers were started with
    another offsets.topic.num.partitions and transaction.state.log.num.partitions: the topics are there, and have the
    partitions that they have. The same after the settings are taken back.

    Twelve groups and twelve producers, each of which has a transaction open whenever the brokers are started.
    """
    groups = [wire.name(f"g{number}") for number in range(MANY)]
    producers = [wire.producer(wire.name(f"x{number}"), timeout_ms=55_000) for number in range(MANY)]
    committed = dict.fromkeys(groups, 0)
    sent = []
    for turn, settings in enumerate(({}, COUNTS, {})):
        if turn:
            nodes.start_with(settings)
            wire.await_topic(topic)
        for number, group in enumerate(groups):
            if turn:
                wire.committed(group, topic).must_be(committed[group])
            committed[group] = 100 * turn + number + 1
            wire.commit(group, topic, offset=committed[group]).must_succeed()
        for number, producer in enumerate(producers):
            if turn:
                producer.commit().must_succeed()
            if turn < 2:
                sent.append(f"{turn} of {number}")
                producer.send(topic, sent[-1]).must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*sent)
