"""Idle producers, whom each replica of a partition forgets by itself (KIP-854)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._led_in_turn import APIS as MOVES
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead
from brokertrial.suites.cases.replication._roles import all_in_sync, placed
from brokertrial.suites.cases.transactions.idle_producers import (
    ALL,
    CHECKED_MS,
    CHECKS,
    EXPIRATION,
    EXPIRES_MS,
    MINUTE_MS,
    OLD_MS,
    ROWS,
    WITHIN_S,
)
from brokertrial.suites.probe.admin import BROKER, DELETE, SET
from brokertrial.wire import errors

ALONE, IDLE = {"min.insync.replicas": "1"}, 3


@case(
    "idempotence/every-replica-forgets",
    guarantees=["idem-011", "idem-008", "adm-010"],
    apis={
        "InitProducerId": 0,
        "DescribeProducers": 0,
        "DescribeConfigs": 1,
        "IncrementalAlterConfigs": 0,
        "DeleteTopics": 1,
        **MOVES,
    },
    needs=["settings", "started", "three-nodes", "leaders", "partitions", "topic-settings"],
    since="3.4 (KIP-854)",
    detects=["B155"],
)
def the_next_leader_has_forgotten_them_too(wire, rng):
    """Producers that are idle for longer than producer.id.expiration.ms MUST be forgotten by every replica, whoever
    leads meanwhile: a leader that followed until then MUST NOT know them, and takes any sequence of them; producers
    that are not idle it MUST know as before.

    Each replica leads in turn, when it had time to forget. The age is that of the records' timestamps.
    """
    if wire.setting(EXPIRATION) is None:
        wire.not_applicable(f"the brokers do not report {EXPIRATION}")
    wire.needs_setting(CHECKS, at_most=5_000)
    order, now_ms = rng.sample(wire.nodes, 3), wire.now_ms()
    topic = placed(wire, "t", order, **ALONE)
    all_in_sync(wire, topic)
    idle, young = [wire.producer() for _ in range(IDLE)], wire.producer()
    for offset, one in enumerate((*idle, young)):
        one.send(topic, "a", timestamp=now_ms - (MINUTE_MS if one is young else OLD_MS)).must_be_at(offset)
    _must_be_known(wire, topic, [*idle, young])
    try:
        changed = wire.change_configs(BROKER, ALL, [(EXPIRATION, SET, f"{EXPIRES_MS}")])
        if changed.error == errors.INVALID_REQUEST:
            wire.not_applicable(f"{EXPIRATION} cannot be changed while the brokers run")
        changed.must_succeed()
        wire.eventually(lambda: _must_be_known(wire, topic, [young]), within=WITHIN_S)
        wire.rest((int(wire.setting(CHECKS) or 0) + CHECKED_MS) / 1_000)
        for leader in order[1:]:
            comes_to_lead(wire, topic, [leader, *(one for one in order if one != leader)], leader)
            with wire.part(f"led by {leader}"):
                _must_be_known(wire, topic, [young])
        anew = rng.choice(idle)
        anew.begin_at(topic, anew.batch("anew", sequence=rng.randint(2, 9))).must_be_at(IDLE + 1)
        again = young.batch("a", sequence=0, timestamp=now_ms - MINUTE_MS)
        wire.produce(topic, again).must_be_at(IDLE)
    finally:
        wire.change_configs(BROKER, ALL, [(EXPIRATION, DELETE, None)])
    wire.delete_topic(topic).must_succeed()


def _must_be_known(wire, topic, producers):
    answer = wire.describe_producers(topic).must_succeed()
    found = sorted(row.producer_id for row in answer.at(ROWS))
    wanted = sorted(one.id for one in producers)
    answer.must(found == wanted, f"the producers are {found}; they must be {wanted}", ROWS)
