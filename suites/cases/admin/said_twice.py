"""Requests that say a thing twice, or say two things of one: refused for that entry, and nothing of it is done."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.admin.configs import overridden
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, request

WITHIN_S = 10


@case(
    "admin/settings-said-twice",
    guarantees=["adm-009"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    needs=["topic-settings"],
    detects=["S04"],
)
def what_is_said_twice_of_settings_is_refused(wire, topic_of):
    """IncrementalAlterConfigs that names a topic twice, a setting twice, or no value to set MUST be refused for that
    topic (42), change nothing of it, and change another topic of the same request.
    """
    topic, other = topic_of(configs={"retention.ms": "7654321"}), topic_of(what="other")
    odd: dict[str, list[list[tuple[str, int, str | None]]]] = {
        "a setting twice": [[("retention.ms", SET, "1000"), ("retention.ms", SET, "2000")]],
        "the topic twice": [[("retention.ms", SET, "1000")], [("retention.bytes", SET, "2000000")]],
        "no value": [[("retention.ms", SET, None)]],
    }
    for turn, (name, rows) in enumerate(odd.items()):
        good = {"retention.ms": str(1_000_000 + turn)}
        resources = [*((topic, changes) for changes in rows), (other, [("retention.ms", SET, good["retention.ms"])])]
        with wire.part(name):
            answer = wire.ask(_altered(resources), to=wire.controller)
            codes = {row.resource_name: row.error_code for row in answer.struct.responses}
            wanted = {topic: errors.INVALID_REQUEST, other: 0}
            answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "responses")
            wire.eventually(lambda good=good: overridden(wire, other, good), within=WITHIN_S)
            overridden(wire, topic, {"retention.ms": "7654321"})


@case(
    "admin/topics-said-twice",
    guarantees=["adm-002", "adm-006", "adm-007"],
    apis={"CreateTopics": 5, "DeleteTopics": 6, "CreatePartitions": 0},
    needs=["partitions"],
    detects=["S05"],
)
def what_is_said_twice_of_topics_is_refused(wire, topic_of):
    """CreatePartitions and DeleteTopics that name a topic twice, and DeleteTopics that names one by both name and id or
    by neither, MUST be refused for that topic (42) and leave it as it is; another topic of the same request is served.
    """
    topic, grown, gone = topic_of(), topic_of(what="grown"), topic_of(what="gone")
    rows = [{"name": name, "count": count, "assignments": None} for name, count in ((topic, 2), (grown, 3), (topic, 4))]
    with wire.part("grown twice"):
        asked = request("CreatePartitions", topics=rows, timeout_ms=20_000, validate_only=False)
        answer = wire.ask(asked, to=wire.controller)
        returned = {row.name: row.error_code for row in answer.struct.results}
        wanted = {topic: errors.INVALID_REQUEST, grown: 0}
        answer.must(returned == wanted, f"the error codes are {returned}; they must be {wanted}", "results")
    if not wire.case_context.has_zookeeper:  # its controller deletes a topic that is named twice, once
        _deleted_in_no_odd_way(wire, topic, gone)
    for name, count in ((topic, 1), (grown, 3)):
        wire.eventually(lambda name=name, count=count: _must_have(wire, name, count), within=WITHIN_S)
        wire.log_end(name)


def _deleted_in_no_odd_way(wire, topic, gone):
    for name, named in (
        ("deleted twice", [(topic, ZERO_UUID), (topic, ZERO_UUID)]),
        ("by name and id", [(topic, wire.topic_id(topic))]),
        ("by neither", [(None, ZERO_UUID)]),
        ("by its id twice", [(None, wire.topic_id(topic)), (None, wire.topic_id(topic))]),
    ):
        with wire.part(name):
            rows = [{"name": each, "topic_id": topic_id} for each, topic_id in named]
            asked = request("DeleteTopics", topics=rows, timeout_ms=20_000)
            answer = wire.ask(asked, to=wire.controller)
            refused = {row.error_code for row in answer.struct.responses}
            answer.must(refused == {errors.INVALID_REQUEST}, f"the error codes are {sorted(refused)}", "responses")
    rows = [{"name": gone, "topic_id": ZERO_UUID}, {"name": topic, "topic_id": wire.topic_id(topic)}]
    answer = wire.ask(request("DeleteTopics", topics=rows, timeout_ms=20_000), to=wire.controller)
    codes = sorted(row.error_code for row in answer.struct.responses)
    answer.must(codes == [0, errors.INVALID_REQUEST], f"the error codes are {codes}", "responses")
    wire.deleted_topics.add(gone)
    unknown = errors.UNKNOWN_TOPIC_OR_PARTITION
    wire.eventually(lambda: wire.metadata(gone).must_have("topics[0].error_code", unknown), within=20)


def _must_have(wire, topic, count):
    answer = wire.metadata(topic).must_succeed()
    found = sorted(row.partition_index for row in answer.struct.topics[0].partitions)
    answer.must(
        found == list(range(count)), f"its partitions are {found}; it must have {count}", "topics[0].partitions"
    )


def _altered(resources):
    return request(
        "IncrementalAlterConfigs",
        validate_only=False,
        resources=[
            {
                "resource_type": TOPIC,
                "resource_name": topic,
                "configs": [{"name": key, "config_operation": how, "value": value} for key, how, value in changes],
            }
            for topic, changes in resources
        ],
    )
