"""Which answer belongs to which request: correlation ids, order, and requests that have no answer."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

LARGE = 5_000_000
SOFTWARE = {"client_software_name": "client", "client_software_version": "1"}


@case("protocol/correlation-ids", guarantees=["prot-007", "prot-008"], smoke=True, detects=["M38c", "M38d"])
def each_answer_carries_the_id_of_its_request(wire, topic, rng):
    """The answers on a connection MUST come in the order of the requests, each with the correlation id of its own.

    Three hundred requests of up to four kinds under way at once; the ids come from the whole range, one comes twice.
    """
    line = wire.connect("many")
    low, high = -(2**31), 2**31 - 1
    ids = [0, -1, low, high, high, *(rng.randint(low, high) for _ in range(295))]
    kinds = [
        (request("ApiVersions", **SOFTWARE), 0),
        (request("Metadata", topics=[{"name": topic}]), 1),
        (request("FindCoordinator", key=topic), 0),
        (request("ApiVersions", **SOFTWARE), 3),
    ]
    offered = [(message, version) for message, version in kinds if version in wire.versions(message._api)]
    if {message._api for message, _ in offered} == {"ApiVersions"}:
        wire.not_applicable("there is nothing but ApiVersions to ask in turn: no Metadata v1 and no FindCoordinator v0")
    waiting = []
    for number in ids:
        message, version = rng.choice(offered)
        waiting.append(line.send(message, version, correlation_id=number))
    for asked in waiting:
        asked.wait()


@case("protocol/slow-before-fast", guarantee="prot-008", detects=["M38c", "M38d"])
def a_fast_request_waits_for_the_slow_one_before_it(wire, topic):
    """A request that is quickly done MUST be answered after a slow one that came before it on the same connection.

    A long poll and a large Produce, each with quick ones behind.
    """
    node = wire.leader(topic)
    began = wire.fetch(topic, max_wait_ms=1_500, min_bytes=1, to=node, via="one", wait=False)
    quick = wire.ask(request("ApiVersions", **SOFTWARE), version=0, to=node, via="one", wait=False)
    large = wire.produce(topic, batch(b"x" * 500_000), to=node, via="one", wait=False)
    last = [wire.list_offsets(topic, at="latest", to=node, via="one", wait=False) for _ in range(5)]

    for answer in last:
        answer.must_name(offset=1)
    large.must_be_at(0)
    quick.must_succeed()
    began.must_be_empty()
    began.must(began.took_ms >= 1_400, f"the long poll came back after {began.took_ms:.0f} ms and had nothing")


@case("protocol/large-behind-a-slow-one", guarantee="prot-008", needs=["topic-settings"], detects=["B358"])
def what_is_large_is_read_behind_what_waits(wire, topic_of):
    """A request of several megabytes MUST be carried out and answered behind one that waits on the same connection, and
    so MUST dozens behind it.

    A long poll, a Produce of one batch of five megabytes, and 40 requests for the end of the log.
    """
    topic = topic_of(configs={"max.message.bytes": str(2 * LARGE)})
    node = wire.leader(topic)
    began = wire.fetch(topic, max_wait_ms=1_500, min_bytes=1, to=node, via="one", wait=False)
    large = wire.produce(topic, batch(b"x" * LARGE), to=node, via="one", wait=False)
    last = [wire.list_offsets(topic, at="latest", to=node, via="one", wait=False) for _ in range(40)]

    began.must_be_empty()
    large.must_be_at(0)
    for answer in last:
        answer.must_name(offset=1)


@case("protocol/acks-0-has-no-answer", guarantee="prot-009", smoke=True, detects=["M38a", "M38b"])
def produce_without_acknowledgement_is_not_answered(wire, topic):
    """A Produce with acks=0 MUST NOT be answered, and MUST NOT keep later requests on its connection waiting.

    The one after them is acknowledged by all in-sync replicas: only then may all of them be read.
    """
    node = wire.leader(topic)
    wire.produce(topic, batch("v0"), to=node, via="quiet").must_be_at(0)
    with wire.the_subject():
        for number in range(1, 100):
            wire.produce(topic, batch(f"v{number}"), acks=0, to=node, via="quiet", wait=False)
        wire.produce(topic, batch("v100"), to=node, via="quiet").must_be_at(100)
    wire.read_all(topic).must_hold(*(f"v{number}" for number in range(101)))


@case(
    "protocol/acks-0-that-fails-has-no-answer",
    guarantee="prot-009",
    detects=["M38a"],
)
def a_failed_produce_without_acknowledgement_is_not_answered(wire, topic):
    """A Produce with acks=0 that fails MUST NOT be answered either; the broker may close the connection, or not."""
    node = wire.leader(topic)
    line = wire.connect("quiet", node)
    parts = [{"index": 99, "records": batch("a")}]
    rows = [{"name": topic, "topic_id": wire.topic_id(topic), "partition_data": parts}]
    version = wire.versions("Produce")[-1]
    wrong = request("Produce", acks=0, timeout_ms=5_000, topic_data=rows)
    line.send_bytes(wire.frame(wrong, version, correlation_id=77))
    line.send_bytes(wire.frame(request("ApiVersions", **SOFTWARE), 0, correlation_id=78))

    frame = wire.must_refuse(line, because="a request came behind a Produce with acks=0 that failed")
    if frame:
        wire.must(frame[:4] != int.to_bytes(77, 4, "big"), "the Produce with acks=0 is answered: correlation id 77")
        wire.decoded("ApiVersions", 0, frame, correlation_id=78)
    wire.list_offsets(topic, at="latest").must_name(offset=0)
