"""Logs that were compacted and come to a new replica: with their holes, and with what is known of their producers."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, cleanable, cleaned, facts
from brokertrial.suites.cases.replication._roles import WITHIN_S, partition, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire.records import Record

ALONE = {"min.insync.replicas": "1", "retention.ms": "-1"}
POLICY = "cleanup.policy"
LEARNT_S = 1


@case(
    "compaction/copied-as-it-is",
    guarantees=["comp-002", "adm-014", "idem-008"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "compaction", "started"],
    apis={"AlterPartitionReassignments": 0, "IncrementalAlterConfigs": 0, "InitProducerId": 0, "CreateTopics": 5},
    detects=["B192", "B195"],
)
def a_copy_is_what_was_left(wire, rng):
    """A partition whose log was compacted MUST come to a new replica as it is, whether its topic is to be compacted
    still or not any more: every record at its offset, as it was, between the same ends. A batch that an idempotent
    producer sends again to the new leader MUST be known, though every record of it was cleaned away.

    The log has holes at its start, between and within batches; three topics, one of each policy, move together.
    """
    here, there = rng.sample(list(wire.nodes), 2)
    logs = {}
    for policy in rng.sample(("compact", "delete", "compact,delete"), 3):
        topic = cleanable(wire, lambda configs, of=policy: placed(wire, of, [here], **configs), **ALONE)
        logs[topic] = policy, _written(wire, rng, topic)
    held = {}
    for topic, (policy, _) in logs.items():
        cleaned(wire, topic)
        held[topic] = _facts(wire, cleaned(wire, topic, b"k1"), topic)
        wire.change_configs(TOPIC, topic, [(POLICY, SET, policy)]).must_succeed()
    wire.rest(LEARNT_S)
    reassign(wire, {topic: [there] for topic in logs}, wire.controller)
    for topic, (policy, sent) in logs.items():
        with wire.part(f"{POLICY}={policy}"):
            wire.eventually(lambda at=topic: _must_be_there(wire, at, there), within=WITHIN_S)
            wire.await_topic(topic)
            log = wire.read_all(topic)
            found = _facts(wire, log, topic)
            log.must(found == held[topic], f"(records by offset, start, end) are {found}; they were {held[topic]}")
            for made, offset in sent:
                wire.produce(topic, made).must_be_at(offset)
            wire.produce(topic, batch("next", key=b"next")).must_be_at(held[topic][-1])
        wire.change_configs(
            TOPIC, topic, [(POLICY, SET, "compact")]
        ).must_succeed()  # who looks at it later expects holes


def _written(wire, rng, topic):
    """An hour and a segment a batch. What idempotent producers sent, with its offset: all of it will be overtaken."""
    start, sent, end = wire.now_ms() - 12 * HOUR_MS, [], 0
    rows = [(b"k0",), (b"k0", b"k1"), (b"k1",), (b"k1", b"k2"), (b"k0",), (b"k0", b"k1"), (b"end",)]
    idempotent = rng.sample((1, 2, 4), 2)
    for turn, keys in enumerate(rows):
        records = [Record(key, b"%d" % turn, (), start + turn * HOUR_MS) for key in keys]
        made = batch(records=records)
        if turn in idempotent:
            producer = wire.producer()
            made = batch(records=records, producer_id=producer.id, producer_epoch=producer.epoch, base_sequence=0)
            sent.append((made, end))
        wire.produce(topic, made).must_be_at(end)
        end += len(keys)
    return sent


def _facts(wire, log, topic):
    return {record.offset: facts(record) for record in log.records}, wire.log_start(topic), wire.log_end(topic)


def _must_be_there(wire, topic, node):
    row = partition(wire, topic)
    wire.must(
        [*row.replica_nodes] == [*row.isr_nodes] == [node] and row.leader_id == node,
        f"it is on {row.replica_nodes}, in sync on {row.isr_nodes}, led by {row.leader_id}; it must be on {node} alone",
    )
