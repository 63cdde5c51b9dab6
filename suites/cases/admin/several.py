"""Several topics in one admin request, some refused: each is judged separately, and a refused one stays as it was."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.admin.configs import overridden
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import APPEND, DELETE, SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, request


@case(
    "admin/partitions-of-several-topics",
    guarantees=["adm-007", "adm-016"],
    apis={"CreatePartitions": 0},
    needs=["partitions"],
    detects=["P11", edit_answer("results[].error_code", set=0, api="CreatePartitions")],
)
def each_topic_of_a_request_grows_for_itself(wire, topic_of):
    """Each topic that one CreatePartitions names MUST be judged separately: those with a higher total grow; one with a
    lower total (37), with its present total (37) or that does not exist (3) stays as it was.
    """
    grows, shrinks, stays, more = (topic_of(partitions=2, what=f"t{n}") for n in range(4))
    absent = wire.name("absent")
    asked = {grows: 5, shrinks: 1, absent: 3, stays: 2, more: 3}
    rows = [{"name": name, "count": count, "assignments": None} for name, count in asked.items()]
    answer = wire.ask(
        request("CreatePartitions", topics=rows, timeout_ms=20_000, validate_only=False), to=wire.controller()
    )
    codes = {row.name: row.error_code for row in answer.struct.results}
    wrong = errors.INVALID_PARTITIONS
    wanted = {grows: 0, shrinks: wrong, absent: errors.UNKNOWN_TOPIC_OR_PARTITION, stays: wrong, more: 0}
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "results")
    for name, count in {grows: 5, shrinks: 2, stays: 2, more: 3}.items():
        wire.eventually(lambda name=name, count=count: _has(wire, name, count), within=20)
        wire.await_topic(name)
        wire.produce(name, batch("a"), count - 1).must_be_at(0)


@case(
    "admin/settings-of-several-topics",
    guarantees=["adm-009", "adm-008"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    needs=["topic-settings"],
    detects=["P05", edit_answer("responses[].error_code", set=0, api="IncrementalAlterConfigs")],
)
def each_topic_of_a_request_is_set_for_itself(wire, topic_of):
    """Each topic that one IncrementalAlterConfigs names MUST be changed as a whole or not at all: a bad value refuses
    all changes of its own topic (40), and none of the others; an unknown topic is refused alone (3).
    """
    first, bad, last = (topic_of(what=f"t{n}", configs={"retention.ms": "7654321"}) for n in range(3))
    absent = wire.name("absent")
    changes = {
        first: [("retention.ms", SET, "1000000"), ("retention.bytes", SET, "10000000")],
        bad: [("retention.bytes", SET, "10000000"), ("retention.ms", SET, "soon")],
        absent: [("retention.ms", SET, "1")],
        last: [("retention.ms", DELETE, None), ("cleanup.policy", APPEND, "compact")],
    }
    rows = [
        {
            "resource_type": TOPIC,
            "resource_name": name,
            "configs": [{"name": key, "config_operation": how, "value": value} for key, how, value in each],  # type: ignore[attr-defined]
        }
        for name, each in changes.items()
    ]
    answer = wire.ask(request("IncrementalAlterConfigs", resources=rows, validate_only=False))
    codes = {row.resource_name: row.error_code for row in answer.struct.responses}
    wanted = {first: 0, bad: errors.INVALID_CONFIG, absent: errors.UNKNOWN_TOPIC_OR_PARTITION, last: 0}
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "responses")
    for name, settings in (
        (first, {"retention.ms": "1000000", "retention.bytes": "10000000"}),
        (bad, {"retention.ms": "7654321"}),
        (last, {"cleanup.policy": "delete,compact"}),
    ):
        wire.eventually(lambda name=name, settings=settings: overridden(wire, name, settings), within=10)


@case(
    "admin/described-in-part",
    guarantee="adm-008",
    apis={"DescribeConfigs": 1},
    needs=["topic-settings"],
    detects=["Q15", edit_answer("results[].configs[].value", set="1", api="DescribeConfigs")],
)
def each_topic_of_a_request_is_described_for_itself(wire, topic_of):
    """One DescribeConfigs MUST answer for each resource separately: with the settings asked for by name, with all, or
    with an error of its own (3); the values are those that a request for that resource alone returns.
    """
    one = topic_of(what="one", configs={"retention.ms": "111111"})
    two = topic_of(what="two", configs={"retention.ms": "222222", "max.message.bytes": "2000"})
    absent = wire.name("absent")
    asked = [
        (one, ["retention.ms", "max.message.bytes"]),
        (absent, None),
        (two, None),
        (one[:-1] or absent, ["retention.ms"]),
    ]
    rows = [{"resource_type": TOPIC, "resource_name": name, "configuration_keys": keys} for name, keys in asked]
    answer = wire.ask(request("DescribeConfigs", resources=rows, include_synonyms=False))
    results = {row.resource_name: row for row in answer.struct.results}
    codes = {name: row.error_code for name, row in results.items()}
    unknown = errors.UNKNOWN_TOPIC_OR_PARTITION
    wanted = {one: 0, absent: unknown, two: 0, one[:-1] or absent: unknown}
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "results")
    few = sorted(row.name for row in results[one].configs)
    answer.must(
        few == ["max.message.bytes", "retention.ms"], f"of one it returns {few}; it was asked for two", "results"
    )
    for name, keys in ((one, ["retention.ms", "max.message.bytes"]), (two, None)):
        alone = wire.describe_configs(TOPIC, name, keys).must_succeed().struct.results[0].configs
        both = [
            sorted((row.name, row.value, row.config_source) for row in rows) for rows in (alone, results[name].configs)
        ]
        answer.must(
            both[0] == both[1], f"of {name} another value is returned than where it is asked for alone", "results"
        )
    values = {row.name: row.value for row in results[two].configs}
    own = (values.get("retention.ms"), values.get("max.message.bytes"))
    answer.must(own == ("222222", "2000"), f"the second topic's own settings are {own}", "results")


@case(
    "admin/deleted-by-id",
    guarantee="adm-006",
    apis={"DeleteTopics": 6, "Metadata": 10},
    detects=["P09", edit_answer("responses[].error_code", set=0, api="DeleteTopics")],
)
def topics_are_deleted_by_id_or_by_name(wire, topic_of):
    """DeleteTopics MUST delete by id and by name in one request, each topic separately. An unknown id is refused (100)
    like an unknown name (3), and the id of a deleted topic is not that of a topic created under its name later.
    """
    by_id, by_name, stays = (topic_of(what=name) for name in ("id", "name", "stays"))
    for name in (by_id, by_name, stays):
        wire.produce(name, batch("a"))
    old, absent = wire.topic_id(by_id), wire.name("absent")
    rows = [
        {"name": None, "topic_id": old},
        {"name": absent, "topic_id": ZERO_UUID},
        {"name": by_name, "topic_id": ZERO_UUID},
    ]
    answer = wire.ask(request("DeleteTopics", topics=rows, timeout_ms=20_000), to=wire.controller(), version=6)
    codes = {by_id if row.topic_id == old else row.name: row.error_code for row in answer.struct.responses}
    wanted = {by_id: 0, absent: errors.UNKNOWN_TOPIC_OR_PARTITION, by_name: 0}
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "responses")
    wire.deleted_topics.update((by_id, by_name))
    gone = errors.UNKNOWN_TOPIC_OR_PARTITION
    for name in (by_id, by_name):
        wire.eventually(lambda name=name: wire.metadata(name).must_have("topics[0].error_code", gone), within=20)
    wire.create_topic(by_id).must_succeed()
    wire.await_topic(by_id)
    again = wire.ask(
        request("DeleteTopics", topics=[{"name": None, "topic_id": old}], timeout_ms=20_000),
        to=wire.controller(),
        version=6,
    )
    again.must_have("responses[0].error_code", errors.UNKNOWN_TOPIC_ID)
    wire.produce(by_id, batch("new")).must_be_at(0)
    wire.read_all(stays).must_hold("a")


def _has(wire, topic, count):
    for node in wire.nodes:
        answer = wire.metadata(topic, to=node)
        found = sorted(row.partition_index for row in answer.struct.topics[0].partitions)
        answer.must(found == list(range(count)), f"node {node} shows the partitions {found}; they must be {count}")
    return answer  # type: ignore[possibly-undefined]
