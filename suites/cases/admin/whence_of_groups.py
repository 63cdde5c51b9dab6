"""Where the settings of a group come from: the group, its brokers, or Kafka's defaults (KIP-848, KAFKA-20289)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import BROKER, DELETE, GROUP, SET

OF_THE_GROUP = 8
TIMEOUT = "consumer.session.timeout.ms"
WITHIN_S = 20


@case(
    "admin/whence-a-group-has-its-settings",
    guarantees=["adm-008"],
    apis={"DescribeConfigs": 4, "IncrementalAlterConfigs": 1, "ConsumerGroupHeartbeat": 0},
    features={"group.version": 1},
    needs=["settings"],
    detects=["K46"],
)
def a_group_has_what_its_brokers_have(wire, group, rng):
    """A group setting without a value of its own MUST be described with the value, source and synonyms of the broker
    setting that it falls back to (group.consumer... for consumer...); one with a value of its own as such, before
    these.

    All settings that have such a fallback, before one is set, while it is set and after it is deleted.
    """
    brokers = _settings(wire, BROKER, str(rng.choice(wire.nodes)))
    if f"group.{TIMEOUT}" not in brokers:
        wire.not_applicable(f"the brokers do not describe group.{TIMEOUT}")
    wire.eventually(lambda: _must_fall_back(wire, group, brokers, {}), within=WITHIN_S)
    own = str(int(brokers[f"group.{TIMEOUT}"][0]) + rng.choice((0, 1, 100)))
    wire.change_configs(GROUP, group, [(TIMEOUT, SET, own)]).must_succeed()
    wire.eventually(lambda: _must_fall_back(wire, group, brokers, {TIMEOUT: own}), within=WITHIN_S)
    wire.change_configs(GROUP, group, [(TIMEOUT, DELETE, None)]).must_succeed()
    wire.eventually(lambda: _must_fall_back(wire, group, brokers, {}), within=WITHIN_S)


def _settings(wire, kind, name):
    """Each setting as it is described: its value, its source, and (name, value, source) of each synonym."""
    rows = wire.describe_configs(kind, name, synonyms=True).must_succeed().struct.results[0].configs
    return {
        row.name: (row.value, row.config_source, [(one.name, one.value, one.source) for one in row.synonyms])
        for row in rows
    }


def _must_fall_back(wire, group, brokers, own):
    found = _settings(wire, GROUP, group)
    wire.must(TIMEOUT in found, f"{TIMEOUT} of the group is not described")
    for name, described in found.items():
        if f"group.{name}" not in brokers:
            continue
        value, source, synonyms = brokers[f"group.{name}"]
        if name in own:
            value, source, synonyms = own[name], OF_THE_GROUP, [(name, own[name], OF_THE_GROUP), *synonyms]
        wire.must(
            described == (value, source, synonyms),
            f"{name} is described with (value, source, synonyms) {described}; they must be {(value, source, synonyms)}",
        )
