"""Brokers that are started with the largest values of their times and sizes: none may overflow into "at once"."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch, rebalance

MOST_INT, MOST_LONG = 2**31 - 1, 2**63 - 1
DAY_MS = 86_400_000
CHECKS = {
    "offsets.retention.check.interval.ms": 500,
    "log.retention.check.interval.ms": 500,
    "producer.id.expiration.check.interval.ms": 500,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    "transaction.remove.expired.transaction.cleanup.interval.ms": 500,
}
"""How often brokers look for what is to go."""
LARGEST = {
    "offsets.retention.minutes": MOST_INT,
    "log.retention.bytes": MOST_LONG,
    "log.roll.hours": MOST_INT,
    "log.segment.bytes": MOST_INT,
    "producer.id.expiration.ms": MOST_INT,
    "transactional.id.expiration.ms": MOST_INT,
    "transaction.max.timeout.ms": MOST_INT,
    "group.max.session.timeout.ms": MOST_INT,
    "offset.metadata.max.bytes": MOST_INT,
    "fetch.max.bytes": MOST_INT,
}
KEPT_BY = {"log.retention.hours": MOST_INT, "log.retention.minutes": MOST_INT, "log.retention.ms": MOST_LONG}
LOOKS_MS = 3_000
"""So long everything is left alone: several looks for what is to go."""
CLASSIC = {"protocol_type": "opaque", "session_timeout_ms": MOST_INT, "rebalance_timeout_ms": MOST_INT}


@case(
    "admin/started-with-the-largest-values",
    guarantees=["adm-008", "adm-010", "cmt-002", "idem-001", "txn-008"],
    apis={"DescribeConfigs": 1, "OffsetCommit": 2, "JoinGroup": 1, "InitProducerId": 0, "EndTxn": 0},
    needs=["chosen-settings", "settings", "started", "terminate", "restart"],
    detects=["Z51"],
)
def what_may_stay_for_ever_stays(wire, rng, nodes):
    """A broker that is started with the largest values of its retention, expiration and timeouts MUST keep what they
    are about: an offset of a group without members, a record of a year ago, a producer, a member of a classic group, an
    open transaction; and it MUST grant sessions and transactions with the largest timeout.

    The brokers look twice a second for what is to go; after some looks everything is there, and the settings are
    described as they were set. Retention is given in hours, minutes or milliseconds.
    """
    values = {name: str(value) for name, value in {**LARGEST, **CHECKS}.items() if wire.setting(name) is not None}
    kept_by = rng.choice(["log.retention.ms"] if wire.setting("log.retention.hours") is None else list(KEPT_BY))
    values[kept_by] = str(KEPT_BY[kept_by])
    nodes.start_with(values)
    for name, value in values.items():
        found = wire.setting(name)
        wire.must(found == value, f"{name} is {found}; it was started with {value}")
    topic, group = wire.new_topic(), wire.name("g")
    old = wire.now_ms() - 365 * DAY_MS
    wire.produce(topic, batch("a year old", timestamp=old)).must_be_at(0)
    wire.commit(group, topic, offset=1, metadata="m" * 5_000).must_succeed()
    idle, open_ = wire.producer(), wire.producer(wire.name("x"))
    wire.init_producer_id(wire.name("y"), timeout_ms=MOST_INT).must_succeed()
    idle.send(topic, "first").must_be_at(1)
    open_.send(topic, "committed").must_be_at(2)
    member = wire.member(wire.name("members"), "a", **CLASSIC)
    rebalance(member)

    _look_away(wire, topic)
    wire.list_offsets(topic, at="earliest").must_name(offset=0)
    wire.committed(group, topic).must_be(1)
    idle.send(topic, "second").must_be_at(3)
    open_.commit().must_succeed()
    wire.await_settled(topic)
    read = wire.read_all(topic, isolation=COMMITTED)
    read.must_hold("a year old", "first", "committed", "second")
    member.heartbeat().must_succeed()


def _look_away(wire, topic):
    """Nothing but reads at the end, which keep nothing alive."""
    began_ms = wire.now_ms()

    def over():
        wire.fetch(topic, offset=wire.log_end(topic), max_wait_ms=500, min_bytes=1)
        return wire.now_ms() >= began_ms + LOOKS_MS

    wire.until(over, within=3 * LOOKS_MS / 1_000, what="the brokers have looked for what is to go")
