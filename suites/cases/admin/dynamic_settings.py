"""Settings of brokers that Kafka's documentation calls dynamic, and those that it calls read-only (KIP-226)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import BROKER, DELETE, SET
from brokertrial.wire import errors

ALL, WITHIN_S, LARGE = "", 20, 1_000_000_000
MAY_CHANGE = (
    "background.threads",
    "log.cleaner.backoff.ms",
    "log.index.interval.bytes",
    "log.retention.bytes",
    "log.segment.delete.delay.ms",
    "max.connections",
    "max.connections.per.ip",
    "message.max.bytes",
    "num.io.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)
"""Whole numbers whose update mode is `cluster-wide` in every release since 2.4 (kafka.apache.org, Broker Configs).

Not num.network.threads: with a thread that goes its connections are closed.
"""
READ_ONLY = 6
"""So many of these are tried, by draw."""


@case(
    "admin/settings-that-may-change",
    guarantees=["adm-009", "adm-008"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    needs=["settings", "started"],
    detects=["Z34"],
)
def each_dynamic_setting_may_change_and_no_other(wire, rng):
    """A setting of brokers that is documented as dynamic MUST NOT be described as read-only; it MUST be possible to set
    it for all brokers, each of which MUST then describe it so, and to delete it again. A setting that is described as
    read-only MUST be refused, and stays.
    """
    described = _described(wire, wire.nodes[0])
    for name in MAY_CHANGE:
        row = described.get(name)
        if row is None or not (row.value or "").isdecimal():
            continue
        with wire.part(name):
            wire.must(not row.read_only, f"{name} is described as read-only, and is documented as dynamic")
            value = str(int(row.value) + (1 if int(row.value) < LARGE else -1))
            try:
                wire.change_configs(BROKER, ALL, [(name, SET, value)]).must_succeed()
                for node in wire.nodes:
                    wire.eventually(lambda at=node, to=value, of=name: _must_be(wire, at, of, to), within=WITHIN_S)
            finally:
                wire.change_configs(BROKER, ALL, [(name, DELETE, None)]).must_succeed()
            for node in wire.nodes:
                wire.eventually(lambda at=node, of=row: _must_be(wire, at, of.name, of.value), within=WITHIN_S)
    fixed = sorted(row.name for row in described.values() if row.read_only and row.value and not row.is_sensitive)
    for name in rng.sample(fixed, min(READ_ONLY, len(fixed))):
        with wire.part(name):
            for of in (ALL, str(wire.nodes[0])):
                asked = wire.change_configs(BROKER, of, [(name, SET, described[name].value)])
                asked.must_be_refused(errors.INVALID_REQUEST, errors.INVALID_CONFIG)


def _described(wire, node):
    answer = wire.describe_configs(BROKER, str(node)).must_succeed()
    return {row.name: row for row in answer.struct.results[0].configs}


def _must_be(wire, node, name, value):
    answer = wire.describe_configs(BROKER, str(node), [name]).must_succeed()
    found = {row.name: row.value for row in answer.struct.results[0].configs}
    answer.must(found == {name: value}, f"node {node} describes {found}; {name} must be {value}", "results[0].configs")
