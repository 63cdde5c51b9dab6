"""Limits and policies that a topic is given while it has records: it is as if they had always been so."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import COMPACT
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, SEGMENTS, WITHIN_S, wait_for_a_check
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC

HOURS = (9, 8, 7, 6, 3, 2, 1)
OLD = str(4 * HOUR_MS)
KEPT = {"retention.ms": "-1", "retention.bytes": "-1"}
NOT_CLEANED = {"min.compaction.lag.ms": str(48 * HOUR_MS)}
POLICY, AGE, SIZE = "cleanup.policy", "retention.ms", "retention.bytes"
ONE_KEY, COMPACTED = "cleaned", 6
CHANGES = {
    "deleted": ({POLICY: "compact", AGE: OLD, **NOT_CLEANED}, [(POLICY, SET, "delete")], 4),
    "both": ({POLICY: "compact", AGE: OLD, **NOT_CLEANED}, [(POLICY, SET, "compact,delete")], 4),
    "compacted": ({POLICY: "compact,delete", **KEPT, **NOT_CLEANED}, [(POLICY, SET, "compact"), (AGE, SET, OLD)], 0),
    "younger": ({POLICY: "delete", **KEPT}, [(AGE, SET, OLD)], 4),
    "smaller": ({POLICY: "delete", **KEPT}, [(SIZE, SET, "1")], COMPACTED),
    "as-brokers": ({POLICY: "compact", AGE: OLD, **NOT_CLEANED}, [(POLICY, DELETE, None)], 4),
    ONE_KEY: ({**COMPACT, POLICY: "delete", **KEPT}, [(POLICY, SET, "compact")], 0),
}
"""Topic -> its settings, what is changed once it has records, and where it must begin then."""


@case(
    "retention/changed-while-it-has-records",
    guarantees=["ret-001", "ret-002", "ret-003", "comp-001"],
    apis={"IncrementalAlterConfigs": 0},
    needs=["topic-settings", "compaction"],
    detects=["Z20", "M35d"],
)
def a_changed_policy_is_in_force(wire, topic_of):
    """Once cleanup.policy, retention.ms or retention.bytes of a topic is changed, records that are beyond what it says
    now MUST go, and the others MUST stay, as in a topic that was made with these settings.

    Seven topics of seven segments: from compact to delete, to both and to the default, from both to compact, from
    delete to compact, and with limits that had none.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    wire.needs_setting("log.cleaner.backoff.ms", at_most=5_000)
    if wire.setting("log.cleanup.policy") != "delete":
        wire.not_applicable("the default of cleanup.policy is not delete on this cluster", "cluster-setting")
    topics = {what: topic_of(what=what, configs={**SEGMENTS, **made}) for what, (made, _, _) in CHANGES.items()}
    now = wire.now_ms()
    for what, topic in topics.items():
        for number, hours in enumerate(HOURS):
            key = b"k" if what == ONE_KEY else b"%d" % number
            wire.produce(topic, batch(f"{number}", key=key, timestamp=now - hours * HOUR_MS)).must_be_at(number)
    wait_for_a_check(wire, topic_of)
    for what, topic in topics.items():
        wire.list_offsets(topic, at="earliest").must_name(offset=0)
        wire.change_configs(TOPIC, topic, CHANGES[what][1]).must_succeed()

    starts = {what: start for what, (_, _, start) in CHANGES.items()}
    wire.until(
        lambda: all(wire.log_start(topics[what]) >= start for what, start in starts.items()),
        within=WITHIN_S,
        what=f"the logs of {', '.join(starts)} begin at {list(starts.values())}",
    )
    wire.until(lambda: len(wire.read_all(topics[ONE_KEY]).records) <= 2, within=WITHIN_S, what="a log is compacted")
    wait_for_a_check(wire, topic_of)
    for what, start in starts.items():
        wire.list_offsets(topics[what], at="earliest").must_name(offset=start)
        left = range(start, len(HOURS)) if what != ONE_KEY else range(len(HOURS) - 2, len(HOURS))
        wire.read_all(topics[what]).must_have_offsets(left)
