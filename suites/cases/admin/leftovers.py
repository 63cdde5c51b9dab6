"""What a creation that was refused and a deletion leave behind: nothing that a later topic meets."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import TOPIC
from brokertrial.wire import errors

CREATE = {"CreateTopics": 4, "DescribeConfigs": 1}


@case(
    "admin/refused-creation-leaves-nothing",
    guarantees=["adm-001", "adm-002"],
    needs=["topic-settings"],
    apis=CREATE,
    detects=["K01", edit_answer("results[].configs[].value", set="7654321", api="DescribeConfigs")],
)
def a_topic_has_no_settings_of_one_that_was_refused(wire):
    """A topic that is created after a creation under its name was refused MUST have none of the settings requested
    then, whether the creation was refused as a whole, for one setting, or was only validated.

    The refused row stands beside a good one in its request: what is written for that must not include it.
    """
    name, good = wire.name(), wire.name()
    wanted, replicas = {"retention.ms": "7654321", "max.message.bytes": "54321"}, len(wire.nodes) + 1
    answer = wire.create_topics([wire.topic_row(name, replicas=replicas, configs=wanted), wire.topic_row(good)])
    codes = {row.name: row.error_code for row in answer.struct.topics}
    must = {name: errors.INVALID_REPLICATION_FACTOR, good: 0}
    answer.must(codes == must, f"the error codes are {codes}; they must be {must}", "topics")
    bad = wire.create_topic(name, configs={**wanted, "cleanup.policy": "none of these"})
    bad.must_be_refused(errors.INVALID_CONFIG)
    wire.create_topic(name, configs=wanted, validate_only=True).must_succeed()

    wire.create_topic(name).must_succeed()
    wire.await_topic(name)
    described = wire.describe_configs(TOPIC, name, list(wanted)).must_succeed()
    left = {row.name: row.value for row in described.struct.results[0].configs if row.value == wanted[row.name]}
    described.must(not left, f"the topic was made without settings and has {left}", "results[0].configs")


@case(
    "admin/name-free-again",
    guarantees=["adm-006", "adm-003"],
    apis={"CreateTopics": 4, "DeleteTopics": 1},
    detects=["K02", edit_answer("topics[].error_code", set=errors.INVALID_TOPIC_EXCEPTION, api="CreateTopics", skip=2)],
)
def a_deleted_topic_frees_its_name_and_those_like_it(wire):
    """Once a topic is deleted, one MUST be able to have its name, and one whose name differs from it only in "." and
    "_": a broker that refuses such names MUST forget the old one.
    """
    stem = wire.name("n")
    wire.create_topic(f"{stem}.a").must_succeed()
    wire.await_topic(f"{stem}.a")
    wire.create_topic(f"{stem}.b").must_succeed()
    wire.await_topic(f"{stem}.b")
    wire.delete_topic(f"{stem}.a", f"{stem}.b").must_succeed()

    for name in (f"{stem}_a", f"{stem}.b"):
        wire.eventually(lambda name=name: wire.create_topic(name).must_succeed(), within=20)
        wire.await_topic(name)
