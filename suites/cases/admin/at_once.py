"""Changes that many clients make at the same moment, each on its own connection."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import APPEND, SET, TOPIC
from brokertrial.suites.probe.at_once import at_once

ROUNDS = 4
THROTTLED = "leader.replication.throttled.replicas"
SETTINGS = {
    "retention.ms": 86_400_000,
    "retention.bytes": 10_000_000,
    "segment.ms": 43_200_000,
    "max.message.bytes": 900_000,
    "delete.retention.ms": 3_600_000,
    "file.delete.delay.ms": 30_000,
    "min.compaction.lag.ms": 1_000,
    "flush.messages": 100_000,
}
WITHIN_S = 10


@case(
    "admin/changed-at-once",
    guarantees=["adm-009"],
    apis={"IncrementalAlterConfigs": 0, "DescribeConfigs": 1},
    needs=["topic-settings"],
    detects=["K33", "P04"],
)
def no_change_undoes_another(wire, topic):
    """However many clients change a topic at the same moment, no change that is acknowledged may undo another: each
    setting MUST have the value that it was given, and a list MUST hold all that was appended to it.

    Eight clients, four times: each sets one setting and appends one entry to the same list.
    """
    settings, appended = {}, []
    for turn in range(ROUNDS):
        asks = []
        for client, (name, least) in enumerate(SETTINGS.items()):
            settings[name] = str(least + turn)
            appended.append(f"{client}:{turn + 1}")
            changes = [(name, SET, settings[name]), (THROTTLED, APPEND, appended[-1])]
            asks.append(partial(wire.change_configs, TOPIC, topic, changes, via=f"client {client}"))
        for answer in at_once(wire, asks):
            answer.must_succeed()
        wire.eventually(lambda: _must_have(wire, topic, settings, appended), within=WITHIN_S)


def _must_have(wire, topic, settings, appended):
    answer = wire.describe_configs(TOPIC, topic, [*settings, THROTTLED]).must_succeed()
    found = {row.name: row.value for row in answer.struct.results[0].configs}
    entries = sorted(found.pop(THROTTLED, "").split(","))
    answer.must(found == settings, f"the settings are {found}; they must be {settings}", "results[0].configs")
    said = f"{THROTTLED} holds {entries}; it must hold {sorted(appended)}"
    answer.must(entries == sorted(appended), said, "results[0].configs")
