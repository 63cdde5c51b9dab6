"""Topics whose cleanup.policy names neither `delete` nor `compact`: nothing goes by itself (KIP-1161)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import COMPACT
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, SEGMENTS, WITHIN_S, wait_for_a_check
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC

POLICY, AGE, SIZE = "cleanup.policy", "retention.ms", "retention.bytes"
HOURS = (9, 8, 7, 6, 3, 2, 1)
LIMITS = {AGE: str(4 * HOUR_MS), SIZE: "1"}
KEPT = {AGE: "-1", SIZE: "-1"}
MADE = {
    "created": {**COMPACT, **LIMITS, POLICY: ""},
    "deleted before": {**COMPACT, **KEPT, POLICY: "delete"},
    "compacted before": {**COMPACT, **LIMITS, POLICY: "compact"},
    "replaced": {**COMPACT, **KEPT, POLICY: "delete,compact"},
}
CUT, LEFT = 2, 6
"""With retention.bytes=1 the segment that is written to is what stays."""


@case(
    "retention/neither-policy",
    guarantees=["ret-003", "ret-009", "adm-010", "comp-004"],
    apis={"DeleteRecords": 0, "IncrementalAlterConfigs": 0, "AlterConfigs": 0},
    needs=["topic-settings", "compaction"],
    since="4.2 (KIP-1161)",
    detects=["B214"],
)
def an_empty_policy_keeps_everything(wire, topic_of):
    """While cleanup.policy of a topic is empty all of its records MUST stay, whatever retention.ms, retention.bytes and
    the settings of compaction say, be it so from the start or since a change; DeleteRecords MUST be taken, and once the
    policy is `delete`, what is beyond the limits MUST go.

    Four topics, of whose seven segments four are too old, six too many, and whose records have one key or none. Two
    others, one for each policy, show that retention and the cleaner have looked.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    wire.needs_setting("log.cleaner.backoff.ms", at_most=5_000)
    topics = {what: topic_of(what=what.replace(" ", "-"), configs={**SEGMENTS, **made}) for what, made in MADE.items()}
    compacted = topic_of(what="compacted", configs={**SEGMENTS, **COMPACT})
    for what, topic in topics.items():
        if what == "replaced":
            wire.alter_configs(TOPIC, topic, {**SEGMENTS, **COMPACT, **LIMITS, POLICY: ""}).must_succeed()
        elif what != "created":
            changes = [(key, SET, value) for key, value in {**LIMITS, POLICY: ""}.items()]
            wire.change_configs(TOPIC, topic, changes).must_succeed()
    now = wire.now_ms()
    for topic in (*topics.values(), compacted):
        for number, hours in enumerate(HOURS):
            key = b"k" if number % 2 or topic == compacted else None
            wire.produce(topic, batch(f"{number}", key=key, timestamp=now - hours * HOUR_MS)).must_be_at(number)
    wire.until(lambda: len(wire.read_all(compacted).records) <= 2, within=WITHIN_S, what="the cleaner has looked")
    for _ in range(2):
        wait_for_a_check(wire, topic_of)
    for what, topic in topics.items():
        with wire.part(what):
            wire.list_offsets(topic, at="earliest").must_name(offset=0)
            wire.read_all(topic).must_have_offsets(range(len(HOURS)))
            wire.delete_records(topic, offset=CUT).must_succeed()
            wire.list_offsets(topic, at="earliest").must_name(offset=CUT)
            wire.read_all(topic).must_have_offsets(range(CUT, len(HOURS)))
        wire.change_configs(TOPIC, topic, [(POLICY, SET, "delete")]).must_succeed()
    wire.until(
        lambda: all(wire.log_start(topic) == LEFT for topic in topics.values()),
        within=WITHIN_S,
        what="what is beyond the limits goes once `delete` is the policy",
    )
    for topic in topics.values():
        wire.read_all(topic).must_have_offsets(range(LEFT, len(HOURS)))
