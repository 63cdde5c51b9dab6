"""Records that a topic would not take any more: what a leader has taken is copied all the same."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, others_lead, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire import errors

ALONE = {"min.insync.replicas": "1"}
LARGE, HOUR_MS = 5_000, 3_600_000
NARROWED = (
    ("max.message.bytes", str(LARGE // 2), errors.MESSAGE_TOO_LARGE),
    ("message.timestamp.before.max.ms", str(HOUR_MS // 2), errors.INVALID_TIMESTAMP),
)
"""A setting, the value under which the records would be refused, and with which code."""


@case(
    "replication/taken-before-it-was-narrowed",
    guarantees=["repl-001", "adm-010"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "terminate", "restart"],
    apis={"IncrementalAlterConfigs": 0},
    since="3.6 (KIP-937)",
    detects=["Z41"],
)
def what_was_taken_is_copied(wire, nodes, rng):
    """A follower that was away MUST come to be in sync with all records that its leader has taken, also where the topic
    has been narrowed since and would refuse them: its largest batch (max.message.bytes), its oldest record
    (message.timestamp.before.max.ms). Clients' next ones are refused; and when the leader goes, the other MUST have
    all.
    """
    leads, follows = rng.sample(list(wire.nodes), 2)
    topics = {
        placed(wire, name.replace(".", "-"), [leads, follows], **ALONE): (name, value, code)
        for name, value, code in NARROWED
    }
    old_ms = wire.now_ms() - HOUR_MS
    for topic in topics:
        wire.produce(topic, batch("small")).must_be_at(0)
        all_in_sync(wire, topic)
    nodes.terminate(follows)
    for topic, (name, value, _) in topics.items():
        wire.until(
            lambda at=topic: [*partition(wire, at).isr_nodes] == [leads],
            within=WITHIN_S,
            what=f"{follows} is out of sync",
        )
        wire.produce(topic, _outside(old_ms)).must_be_at(1)
        wire.change_configs(TOPIC, topic, [(name, SET, value)]).must_succeed()
    for topic, (_, _, code) in topics.items():
        wire.eventually(lambda at=topic, by=code: _must_be_refused(wire, at, old_ms, by), within=WITHIN_S)
    nodes.start(follows)
    for topic in topics:
        wire.eventually(lambda at=topic: _must_be_in_sync(wire, at, {leads, follows}), within=WITHIN_S)
    kept = {topic: wire.read_all(topic).values for topic in topics}
    nodes.terminate(leads)
    for topic in topics:
        others_lead(wire, topic, leads)
        wire.read_all(topic).must_hold(*kept[topic])
    nodes.start(leads)


def _outside(old_ms):
    return batch("x" * LARGE, timestamp=old_ms)


def _must_be_refused(wire, topic, old_ms, code):
    """The setting is in force; what was taken until then counts too."""
    wire.produce(topic, _outside(old_ms)).must_be_refused(code)


def _must_be_in_sync(wire, topic, wanted):
    found = {*partition(wire, topic).isr_nodes}
    wire.must(found == wanted, f"{sorted(found)} are in sync; {sorted(wanted)} must be")
