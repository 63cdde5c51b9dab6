"""Settings: described with their sources, changed as asked, in force at once and for good (KIP-133, 226, 339)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import APPEND, BROKER, DELETE, SET, SUBTRACT, TOPIC
from brokertrial.wire import errors

DYNAMIC_TOPIC = 1
CORE = {"cleanup.policy", "retention.ms", "retention.bytes", "max.message.bytes"}
DESCRIBE, CHANGE = {"DescribeConfigs": 1}, {"DescribeConfigs": 1, "IncrementalAlterConfigs": 0}
CODES = "responses[].error_code"


@case(
    "admin/described-settings",
    guarantee="adm-008",
    needs=["topic-settings"],
    apis=DESCRIBE,
    detects=[edit_answer("results[].configs[].config_source", set=5, api="DescribeConfigs")],
)
def settings_are_described_with_their_sources(wire, topic_of):
    """DescribeConfigs MUST list a topic's settings, each with its value and its source.

    An override has the topic as its source; a list of keys returns these alone; an unknown topic is refused (3).
    """
    topic = topic_of(configs={"retention.ms": "7654321"})
    with wire.part("asked for by name"):  # first: cases ask so for the settings that they need
        few = wire.describe_configs(TOPIC, topic, ["retention.ms", "no.such.setting"], synonyms=True).must_succeed()
        named = [row.name for row in few.struct.results[0].configs]
        few.must(named == ["retention.ms"], f"asked for retention.ms it describes {named}", "results[0].configs")
    answer = wire.describe_configs(TOPIC, topic).must_succeed()
    rows = {row.name: row for row in answer.struct.results[0].configs}
    missing = sorted(CORE - rows.keys())
    answer.must(not missing, f"the settings {missing} are not listed", "results[0].configs")
    own = (rows["retention.ms"].value, rows["retention.ms"].config_source)
    answer.must(own == ("7654321", DYNAMIC_TOPIC), f"retention.ms has value and source {own}", "results[0].configs")
    other = rows["retention.bytes"].config_source
    answer.must(other != DYNAMIC_TOPIC, "retention.bytes is called an override of the topic", "results[0].configs")

    wire.describe_configs(TOPIC, wire.name("absent")).must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    for node in wire.nodes:
        broker = wire.describe_configs(BROKER, str(node)).must_succeed()
        broker.must(len(broker.struct.results[0].configs) > 0, "the broker has no settings", "results[0].configs")


@case(
    "admin/settings-replaced",
    guarantee="adm-009",
    needs=["topic-settings"],
    apis={"DescribeConfigs": 1, "AlterConfigs": 0},
    detects=["M40i"],
)
def alter_configs_replaces_all(wire, topic_of):
    """AlterConfigs MUST replace the whole set: a setting that it does not name falls back to its default."""
    topic = topic_of(configs={"retention.ms": "7654321", "retention.bytes": "10000000"})
    wire.alter_configs(TOPIC, topic, {"retention.ms": "1234567"}).must_succeed()
    wire.eventually(lambda: overridden(wire, topic, {"retention.ms": "1234567"}), within=10)
    wire.alter_configs(TOPIC, topic, {"retention.ms": "soon"}).must_be_refused(errors.INVALID_CONFIG)
    wire.alter_configs(TOPIC, topic, {"retention.bytes": "1"}, validate_only=True).must_succeed()
    wire.alter_configs(TOPIC, topic, {"retention.ms": "1234568"}).must_succeed()
    wire.eventually(lambda: overridden(wire, topic, {"retention.ms": "1234568"}), within=10)


@case(
    "admin/settings-changed",
    guarantees=["adm-009", "adm-004"],
    needs=["topic-settings"],
    apis=CHANGE,
    detects=[edit_answer("results[].configs[].value", set="delete", api="DescribeConfigs")],
)
def incremental_changes_touch_what_they_name(wire, topic_of):
    """IncrementalAlterConfigs MUST change the settings that it names and no other: SET, DELETE, APPEND, SUBTRACT.

    With validate_only it MUST change nothing.
    """
    topic = topic_of(configs={"retention.ms": "7654321", "cleanup.policy": "delete"})
    kept = {"retention.ms": "7654321"}

    def after(*changes):
        wire.change_configs(TOPIC, topic, changes, validate_only=True).must_succeed()
        wire.change_configs(TOPIC, topic, changes).must_succeed()

    after(("cleanup.policy", APPEND, "compact"), ("retention.bytes", SET, "10000000"))
    both = {**kept, "retention.bytes": "10000000"}
    wire.eventually(lambda: overridden(wire, topic, {**both, "cleanup.policy": "delete,compact"}), within=10)
    after(("cleanup.policy", SUBTRACT, "delete"), ("retention.bytes", DELETE, None))
    wire.eventually(lambda: overridden(wire, topic, {**kept, "cleanup.policy": "compact"}), within=10)
    wire.change_configs(TOPIC, topic, [("retention.ms", SET, "1")], validate_only=True).must_succeed()
    after(("cleanup.policy", SET, "delete"))
    wire.eventually(lambda: overridden(wire, topic, {**kept, "cleanup.policy": "delete"}), within=10)


@case(
    "admin/settings-refused",
    guarantee="adm-009",
    needs=["topic-settings"],
    apis=CHANGE,
    detects=[edit_answer(CODES, set=0, api="IncrementalAlterConfigs")],
)
def one_bad_value_refuses_all_of_a_resource(wire, topic_of):
    """A bad value MUST be refused with INVALID_CONFIG (40), and nothing of that resource is changed.

    Not a number, a number out of range, a setting that does not exist, APPEND to a setting that is not a list.
    """
    topic = topic_of(configs={"retention.ms": "7654321"})
    bad = [
        ("retention.bytes", SET, "plenty"),
        ("max.message.bytes", SET, "-1"),
        ("no.such.setting", SET, "1"),
        ("max.message.bytes", APPEND, "1"),
    ]
    for change in bad:
        with wire.part(f"{change[0]} {change[2]!r}"):
            answer = wire.change_configs(TOPIC, topic, [("retention.ms", SET, "1"), change])
            answer.must_be_refused(errors.INVALID_CONFIG)
    wire.change_configs(TOPIC, topic, [("segment.ms", SET, "3600000")]).must_succeed()
    wire.eventually(lambda: overridden(wire, topic, {"retention.ms": "7654321", "segment.ms": "3600000"}), within=10)


@case(
    "admin/settings-in-force",
    guarantee="adm-010",
    needs=["topic-settings"],
    apis=CHANGE,
    detects=["M40a"],
)
def a_changed_setting_is_in_force_at_once(wire, topic):
    """A changed setting MUST come into force without a restart, and go out of force when it is deleted."""
    large = batch("x" * 5_000)
    wire.produce(topic, large)
    wire.change_configs(TOPIC, topic, [("max.message.bytes", SET, "1000")]).must_succeed()
    wire.eventually(lambda: wire.produce(topic, large).must_be_refused(errors.MESSAGE_TOO_LARGE), within=10)
    wire.produce(topic, batch("small")).must_succeed()
    wire.change_configs(TOPIC, topic, [("max.message.bytes", DELETE, None)]).must_succeed()
    wire.eventually(lambda: wire.produce(topic, large).must_succeed(), within=10)


@case(
    "admin/settings-last",
    guarantee="adm-010",
    needs=["topic-settings", "terminate", "restart"],
    apis=CHANGE,
    detects=["M40a"],
)
def a_changed_setting_outlives_a_restart(wire, topic, nodes):
    """A changed setting MUST still be in force after a clean restart."""
    wire.change_configs(TOPIC, topic, [("max.message.bytes", SET, "1000")]).must_succeed()
    wire.eventually(lambda: overridden(wire, topic, {"max.message.bytes": "1000"}), within=10)
    nodes.stop_and_start(nodes.of(topic))
    wire.await_topic(topic)
    overridden(wire, topic, {"max.message.bytes": "1000"})
    wire.produce(topic, batch("x" * 5_000)).must_be_refused(errors.MESSAGE_TOO_LARGE)


def overridden(wire, topic, wanted):
    """These and no others are the topic's own settings, but for some that a broker adds by itself."""
    answer = wire.describe_configs(TOPIC, topic).must_succeed()
    own = {row.name: row.value for row in answer.struct.results[0].configs if row.config_source == DYNAMIC_TOPIC}
    known = {name: value for name, value in own.items() if name in CORE | wanted.keys()}
    return answer.must(known == wanted, f"the topic's own settings are {known}; they must be {wanted}", "results")
