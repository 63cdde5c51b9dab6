"""Bytes that are no request: whatever comes, the broker lives and serves the others."""

from faults.kinds import edit_answer
from suites.case import case
from suites.probe import batch
from wire import errors
from wire.messages import request
from wire.unchecked import unchecked_request

SOFTWARE = {"client_software_name": "client", "client_software_version": "1"}
#: Nothing here makes, changes or waits for anything, also with some of its bytes changed.
HARMLESS = [
    (request("ApiVersions", **SOFTWARE), 3),
    (request("FindCoordinator", key="client", coordinator_keys=["client"]), 4),
    (request("DescribeGroups", groups=["client", "other"]), 5),
    (request("ListGroups", states_filter=["Stable"]), 4),
    (request("OffsetFetch", group_id="client", groups=[{"group_id": "client"}]), 8),
    (request("Heartbeat", group_id="client", member_id="nobody", generation_id=3), 4),
    (
        request("DescribeConfigs", resources=[{"resource_type": 2, "resource_name": "x", "configuration_keys": ["y"]}]),
        4,
    ),
    (
        request(
            "ListOffsets",
            replica_id=-1,
            topics=[{"name": "client", "partitions": [{"partition_index": 0, "timestamp": -1}] * 3}],
        ),
        6,
    ),
]
FRAMES, AT_ONCE = 320, 40


@case("protocol/changed-bytes", guarantee="err-001", fails_on=["M42a"])
def bytes_that_are_no_request_harm_nobody(wire, topic, rng):
    """Frames of wrong bytes MUST NOT bring a broker down, and other clients MUST be served meanwhile.

    Some hundred requests with bytes changed, missing or random, many at a time, beside one that keeps on producing.
    """
    for first in range(0, FRAMES, AT_ONCE):
        lines = [wire.connect(f"f{number}") for number in range(first, first + AT_ONCE)]
        for line in lines:
            line.send_bytes(_spoiled(rng))
        wire.produce(topic, batch(f"after {first}"), via="neighbour").must_succeed()
        for line in lines:
            line.close()
    wire.read_all(topic).must_hold(*(f"after {first}" for first in range(0, FRAMES, AT_ONCE)))


@case(
    "protocol/announced-lengths",
    guarantee="err-002",
    apis={"Metadata": 1, "DescribeGroups": 0, "Produce": 3},
    fails_on=["M42b"],
)
def an_announced_length_is_not_believed(wire, topic):
    """A count or length that the frame cannot hold MUST be refused at once, by an error or by closing the connection.

    Two thousand million topics, groups, names and bytes are announced in frames of a few dozen bytes.
    """
    lines = []
    for number, frame in enumerate(_boasting(topic)):
        lines.append(wire.connect(f"boast{number}"))
        lines[-1].send_bytes(frame)
    wire.must_still_serve("neighbour")
    for number, line in enumerate(lines):
        wire.must_refuse(line, because=f"boast {number} announces more than its frame holds")
    wire.must_still_serve("neighbour")


@case(
    "protocol/broken-text",
    guarantee="err-007",
    apis={"CreateTopics": 2, "Metadata": 1},
    fails_on=["M42b"],
)
def broken_text_and_forbidden_nulls_are_refused(wire):
    """Text that is not UTF-8, and null where none may be, MUST be answered or the connection closed."""
    name = wire.name("broken")
    row = wire.topic_row(name)
    group = request("DescribeGroups", groups=[name])
    frames = {
        "a group name that is not UTF-8": wire.frame(group, 0, replace={"groups[0]": b"\x00\x03\xc3\x28\xff"}),
        "a null in a list of names": wire.frame(group, 0, replace={"groups[0]": b"\xff\xff"}),
        "a null list of groups": wire.frame(group, 0, replace={"groups": b"\xff\xff\xff\xff"}),
        "a topic without a name": wire.frame(
            request("CreateTopics", topics=[row], timeout_ms=5_000), 2, replace={"topics[0].name": b"\xff\xff"}
        ),
        "a client id that is not UTF-8": wire.frame(
            request("ApiVersions"), 0, header=b"\x00\x12\x00\x00\x00\x00\x00\x01\x00\x02\xff\xfe"
        ),
    }
    lines = {what: wire.connect(f"broken{number}") for number, what in enumerate(frames)}
    for what, frame in frames.items():
        lines[what].send_bytes(frame)
    for what, line in lines.items():
        wire.must_refuse(line, because=what)
    wire.must_still_serve("neighbour")


@case(
    "protocol/one-topic-twice",
    guarantee="err-007",
    apis={"CreateTopics": 2, "DeleteTopics": 1},
    needs=["create_topics"],
    fails_on=[edit_answer("topics[].error_code", set=0, api="CreateTopics", fields={"timeout_ms": 20000}, skip=0)],
)
def a_topic_that_is_to_be_made_twice_is_not_made_by_half(wire):
    """CreateTopics that names a topic twice MUST refuse or make it, and the answer MUST be true.

    The two rows differ, so a broker that made one of them would have had to choose. One that takes rows one after the
    other may say of the second that the first is there already.
    """
    name, other = wire.name("twice"), wire.name("once")
    rows = [wire.topic_row(name, 1), wire.topic_row(name, 3), wire.topic_row(other, 1)]
    answer = wire.create_topics(rows)
    codes = [row.error_code for row in answer.struct.topics if row.name == name]
    answer.must(codes != [], f"nothing is said of {name}", "topics")
    made = 0 in codes
    true = (0, errors.INVALID_REQUEST, errors.TOPIC_ALREADY_EXISTS) if made else (errors.INVALID_REQUEST,)
    wrong = [errors.name(code) for code in codes if code not in true]
    answer.must(not wrong, f"{name} is refused with {', '.join(wrong)}", "topics")
    wanted = 0 if made else errors.UNKNOWN_TOPIC_OR_PARTITION
    wire.until(lambda: wire.metadata(name).error == wanted, within=15, what=f"{name} is {'' if made else 'not '}there")


def _spoiled(rng):
    """A frame with a right size and wrong contents."""
    if rng.random() < 0.15:
        body = rng.randbytes(rng.randint(0, 200))
        body = (1_000 + rng.randint(0, 30_000)).to_bytes(2, "big") + body  # no API that exists
        return len(body).to_bytes(4, "big") + body
    message, version = rng.choice(HARMLESS)
    body = bytearray(unchecked_request(message, version, rng.randint(0, 99), "client")[4:])
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(8, len(body))  # not the API and its version
        body[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    if rng.random() < 0.3:
        del body[rng.randrange(8, len(body)) :]
    if rng.random() < 0.2:
        body += rng.randbytes(rng.randint(1, 40))
    return len(body).to_bytes(4, "big") + bytes(body)


def _boasting(topic):
    """Frames that announce far more than they hold."""
    most = 2**31 - 1
    metadata, groups = request("Metadata", topics=[{"name": topic}]), request("DescribeGroups", groups=[topic])
    produce = request(
        "Produce", acks=-1, topic_data=[{"name": topic, "partition_data": [{"index": 0, "records": b"x" * 70}]}]
    )
    flexible = request("FindCoordinator", key=topic)
    return [
        unchecked_request(metadata, 1, lengths={"topics": most}),
        unchecked_request(metadata, 1, lengths={"topics[0].name": 32_767}),
        unchecked_request(groups, 0, lengths={"groups": most}),
        unchecked_request(groups, 0, lengths={"groups": -2}),
        unchecked_request(produce, 3, lengths={"topic_data": most}),
        unchecked_request(produce, 3, lengths={"topic_data[0].partition_data": most}),
        unchecked_request(produce, 3, lengths={"topic_data[0].partition_data[0].records": most}),
        unchecked_request(flexible, 3, lengths={"key": most}),
    ]
