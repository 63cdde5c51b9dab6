"""Bytes that are no request: whatever arrives, the broker stays alive and small and serves the others."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.protocol._least import least
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.apis import by_name
from brokertrial.wire.messages import request
from brokertrial.wire.unchecked import unchecked_request

#: Of these any byte may be another: they make, change and wait for nothing, whatever they then ask.
READING = {
    "ApiVersions",
    "DescribeConfigs",
    "DescribeGroups",
    "DescribeTransactions",
    "FindCoordinator",
    "Heartbeat",
    "ListGroups",
    "ListOffsets",
    "OffsetFetch",
    "OffsetForLeaderEpoch",
}
FRAMES, AT_ONCE = 10_000, 200
MOST = 2**31 - 1
WITHIN_MIB = 512  # a Java heap may grow by as much; what is announced is four times that


@case("protocol/changed-bytes", guarantee="err-001", detects=["M42a", "M42c"])
def bytes_that_are_no_request_harm_no_client(wire, topic, rng, nodes):
    """Frames of wrong bytes MUST NOT bring a broker down nor make it large, and others MUST be served meanwhile.

    Ten thousand requests, each API that is offered in each of its versions in turn, with bytes changed, missing,
    announced or random, many at a time, beside one that keeps on producing.
    """
    offered = [(asked, version) for asked in least(wire.name("nobody")) for version in wire.versions(asked._api)]
    rng.shuffle(offered)
    before = nodes.memory()
    for first in range(0, FRAMES, AT_ONCE):
        lines = [wire.connect(f"f{number}") for number in range(AT_ONCE)]
        for number, line in enumerate(lines, first):
            line.send_bytes(_spoiled(rng, *offered[number % len(offered)]))
        wire.produce(topic, batch(f"after {first}"), via="neighbour").must_succeed()
        for line in lines:
            line.close()
        nodes.must_stay_small(before, within_mib=WITHIN_MIB, because="frames of wrong bytes came")
    wire.read_all(topic).must_hold(*(f"after {first}" for first in range(0, FRAMES, AT_ONCE)))


@case(
    "protocol/announced-lengths",
    guarantee="err-002",
    apis={"Metadata": 1, "DescribeGroups": 0, "Produce": 3},
    detects=["M42b", "M42c", "M42e"],
)
def an_announced_length_is_not_believed(wire, topic, nodes):
    """A count or length that the frame cannot hold MUST be refused at once, by an error or by closing the connection.

    Two thousand million of each thing that an API has a list or text of, announced in frames of a few dozen bytes; and
    no room may be made for them. An answer without an error would mean that the rest was read as something else.
    """
    frames = [*_boasting(topic), *_boasting_of_all(wire)]
    before = nodes.memory()
    for first in range(0, len(frames), AT_ONCE):
        some = frames[first : first + AT_ONCE]
        lines = [wire.connect(f"boast{number}") for number in range(len(some))]
        for line, frame in zip(lines, some, strict=True):
            line.send_bytes(frame)
        wire.must_still_serve("neighbour")
        for number, (line, frame) in enumerate(zip(lines, some, strict=True), first):
            wire.must_refuse(line, because=f"boast {number} announces more than its frame holds", asked=frame)
            line.close()
    negative = wire.connect("negative")  # announces nothing that a frame cannot hold: it may be taken for none
    negative.send_bytes(unchecked_request(request("DescribeGroups", groups=[topic]), 0, 1, lengths={"groups": -2}))
    wire.must_refuse(negative, because="a negative count")
    nodes.must_stay_small(before, within_mib=WITHIN_MIB, because="more was announced than frames held")
    wire.must_still_serve("neighbour")


@case(
    "protocol/broken-text",
    guarantee="err-007",
    apis={"CreateTopics": 2, "Metadata": 1},
    detects=["M42b", "M42e"],
)
def broken_text_and_forbidden_nulls_are_refused(wire):
    """Null where none may be MUST be refused or tolerated, by an answer or by closing the connection, and MUST leave no
    half effect.

    So is text that is not UTF-8. Of two topics to be made the second has no name: that is refused, and the first is not
    made either, unless an answer says so.
    """
    name, made = wire.name("broken"), wire.name("half")
    wire.made_topics.append(made)
    two = request("CreateTopics", topics=[wire.topic_row(made), wire.topic_row(name)], timeout_ms=5_000)
    group = request("DescribeGroups", groups=[name])
    no_name = wire.frame(two, 2, replace={"topics[1].name": b"\xff\xff"})
    refused = {"a topic without a name": no_name}
    tolerated = {
        "a null in a list of names": wire.frame(group, 0, replace={"groups[0]": b"\xff\xff"}),
        "a null list of groups": wire.frame(group, 0, replace={"groups": b"\xff\xff\xff\xff"}),
        "a group name that is not UTF-8": wire.frame(group, 0, replace={"groups[0]": b"\x00\x03\xc3\x28\xff"}),
        "a client id that is not UTF-8": wire.frame(
            request("ApiVersions"), 0, header=b"\x00\x12\x00\x00\x00\x00\x00\x01\x00\x02\xff\xfe"
        ),
    }
    frames = refused | tolerated
    lines = {what: wire.connect(f"broken{number}") for number, what in enumerate(frames)}
    for what, frame in frames.items():
        lines[what].send_bytes(frame)
    answers = {}
    for what, line in lines.items():
        with wire.part(what):
            answers[what] = wire.must_refuse(line, because=what, asked=refused.get(what, b""))
    wire.must_still_serve("neighbour")
    if answers.get("a topic without a name") == b"":
        wire.metadata(made).must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)


@case(
    "protocol/one-topic-twice",
    guarantee="err-007",
    apis={"CreateTopics": 2, "DeleteTopics": 1},
    needs=["create_topics"],
    detects=[edit_answer("topics[].error_code", set=0, api="CreateTopics", fields={"timeout_ms": 20000}, skip=0)],
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


def _spoiled(rng, asked, version):
    """A frame with a right size and wrong contents."""
    if rng.random() < 0.1:
        body = rng.randbytes(rng.randint(0, 200))
        body = (1_000 + rng.randint(0, 30_000)).to_bytes(2, "big") + body  # no API that exists
        return len(body).to_bytes(4, "big") + body
    if (counted := _counted(asked, version)) and rng.random() < 0.3:
        lengths = {rng.choice(counted): rng.choice([MOST, 65_536, 2**30 + rng.randrange(2**30)])}
        return unchecked_request(asked, version, rng.randint(0, 99), "client", lengths=lengths)
    body = bytearray(unchecked_request(asked, version, rng.randint(0, 99), "client")[4:])
    changing = asked._api not in READING
    if not changing:
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(8, len(body))  # not the API and its version
            body[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    if changing or rng.random() < 0.3:
        del body[rng.randrange(8, len(body)) :]
    elif rng.random() < 0.2:
        body += rng.randbytes(rng.randint(1, 40))
    return len(body).to_bytes(4, "big") + bytes(body)


def _counted(asked, version):
    """The fields that begin with a count or a length, as far as they are never left out of a message."""
    return [
        field.name
        for field in asked._fields
        if version in field.versions
        and field.tag is None
        and (field.array or field.kind in ("string", "bytes", "records"))
    ]


def short_texts(asked, version):
    """The fields whose length has two bytes: texts, before the flexible versions."""
    flexible = by_name(asked._api).flexible(version)
    return [field.name for field in asked._fields if field.kind == "string" and not field.array and not flexible]


def _boasting_of_all(wire):
    """Of each API that is offered, in its oldest and newest version, each list and text with too large a count."""
    for asked in least(wire.name("nobody")):
        served = wire.versions(asked._api)
        for version in sorted({*served[:1], *served[-1:]}):
            for name in _counted(asked, version):
                short = name in short_texts(asked, version)
                length = 2**15 - 1 if short else MOST
                yield bytes(unchecked_request(asked, version, 1, "client", lengths={name: length}))


def _boasting(topic):
    """Frames that announce far more than they hold, also inside of what they list."""
    metadata = request("Metadata", topics=[{"name": topic}])
    produce = request(
        "Produce", acks=-1, topic_data=[{"name": topic, "partition_data": [{"index": 0, "records": b"x" * 70}]}]
    )
    return [
        unchecked_request(metadata, 1, 1, lengths={"topics[0].name": 32_767}),
        unchecked_request(produce, 3, 1, lengths={"topic_data[0].partition_data": MOST}),
        unchecked_request(produce, 3, 1, lengths={"topic_data[0].partition_data[0].records": MOST}),
    ]
