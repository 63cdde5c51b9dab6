"""cleanup.policy written with blanks, as it comes out of shells and of YAML (ConfigDef.parseType: LIST)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, SEGMENTS, WITHIN_S, wait_for_a_check
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire import errors

LIMIT = str(4 * HOUR_MS)
NOT_YET = {"min.compaction.lag.ms": str(48 * HOUR_MS)}
"""The cleaner would make one segment of all, which is as young as its newest record."""
SPELLED = {
    "both": ("compact, delete", "delete ,compact", " compact , delete ", "delete,  compact"),
    "delete": (" delete", "delete ", " delete "),
    "compact": (" compact", "compact ", " compact "),
}
OLD, YOUNG = (9, 8, 7, 6), (3, 2, 1)
"""Hours ago."""


@case(
    "retention/policies-written-with-blanks",
    guarantees=["adm-010", "ret-001", "adm-011"],
    needs=["topic-settings"],
    apis={"DeleteRecords": 0, "IncrementalAlterConfigs": 0, "AlterConfigs": 0},
    detects=["B121"],
)
def blanks_around_a_policy_do_not_count(wire, topic_of, rng):
    """A topic MUST be cleaned as its cleanup.policy says, whatever blanks stand around its items and commas, whether it
    was created with that text or has it since: with `delete`, alone or beside `compact`, what is older than
    retention.ms is deleted and DeleteRecords is taken; with `compact` alone no record is, and it is refused (44).

    Each policy in drawn spellings, given at creation, set, and set by a request that replaces all.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topics = {}
    for policy, spellings in SPELLED.items():
        for how in ("created", "set", "replaced"):
            topics[f"{policy}, {how}"] = _topic(wire, topic_of, policy, how, rng.choice(spellings))
    with wire.part("what is old is deleted"):
        wire.until(
            lambda: all(wire.log_start(topic) == len(OLD) for name, topic in topics.items() if _deletes(name)),
            within=WITHIN_S,
            what="the log start of each topic with `delete` in its policy passed the old records",
        )
    wait_for_a_check(wire, topic_of)
    count = len(OLD + YOUNG)
    for name, topic in topics.items():
        with wire.part(name):
            first = len(OLD) if _deletes(name) else 0
            wire.read_all(topic).must_have_offsets(range(first, count))
            deletion = wire.delete_records(topic, offset=count - 1)
            if _deletes(name):
                deletion.must_succeed()
                wire.list_offsets(topic, at="earliest").must_name(offset=count - 1)
            else:
                deletion.must_be_refused(errors.POLICY_VIOLATION)


def _deletes(name):
    return not name.startswith("compact")


def _topic(wire, topic_of, policy, how, text):
    """One whose policy is that text, with records of a key each."""
    what, rest = f"{policy}-{how}", {**SEGMENTS, **NOT_YET, "retention.ms": LIMIT}
    other = {**rest, "cleanup.policy": "compact" if policy == "delete" else "delete", "retention.ms": "-1"}
    topic = topic_of(what=what, configs={**rest, "cleanup.policy": text} if how == "created" else other)
    if how == "set":
        rows = [("cleanup.policy", SET, text), ("retention.ms", SET, LIMIT)]
        wire.change_configs(TOPIC, topic, rows).must_succeed()
    elif how == "replaced":
        wire.alter_configs(TOPIC, topic, {**rest, "cleanup.policy": text}).must_succeed()
    now = wire.now_ms()
    for number, hours in enumerate(OLD + YOUNG):
        made = batch(f"{number}", key=b"%d" % number, timestamp=now - hours * HOUR_MS)
        wire.produce(topic, made).must_be_at(number)
    return topic
