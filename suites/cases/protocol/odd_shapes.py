"""Requests that name nothing, or the same thing twice: odd, but well formed."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request


@case(
    "protocol/names-nothing",
    guarantee="prot-020",
    apis={"Fetch": 4, "ListOffsets": 1, "Produce": 3},
    detects=[edit_answer("error_code", set=42, api="Fetch")],
)
def a_request_for_nothing_is_answered_with_nothing(wire, topic):
    """A request with no topics, or with a topic and no partitions, SHOULD be answered at once and without error.

    With long waits allowed: a broker that waits for data of nothing keeps its client from its work.
    """
    node = wire.leader(topic)
    last = min(wire.versions("Fetch")[-1], 12)
    asked = [
        wire.ask(request("Produce", acks=-1, timeout_ms=20_000), to=node, wait=False),
        wire.ask(request("ListOffsets", replica_id=-1), to=node, wait=False),
        wire.ask(request("ListOffsets", replica_id=-1, topics=[{"name": topic}]), to=node, wait=False),
        wire.ask(request("Metadata", topics=[]), to=node, wait=False, version=1),
    ]
    for answer in asked:
        answer.must_succeed()
    fetches = [
        wire.ask(request("Fetch", replica_id=-1, max_wait_ms=30_000, min_bytes=1, **more), to=node, version=last)
        for more in ({}, {"topics": [{"topic": topic, "partitions": []}]})
    ]
    for answer in fetches:
        answer.must_succeed()
        wire.at_once(answer, hidden_s=30)


@case(
    "protocol/names-twice",
    guarantee="prot-020",
    apis={"Fetch": 4, "ListOffsets": 1, "OffsetFetch": 1},
    detects=[edit_answer("topics[0]", drop=True, api="ListOffsets", skip=1)],
)
def a_partition_may_be_named_twice(wire, topic, group):
    """A partition that is named twice SHOULD be answered: once, twice, or with INVALID_REQUEST."""
    wire.produce(topic, batch("a"))
    wire.commit(group, topic, offset=1)
    node = wire.leader(topic)
    end = {"partition_index": 0, "timestamp": -1}
    start = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000}
    rows = [{"topic": topic, "partitions": [start, start]}]
    fetch = request("Fetch", replica_id=-1, max_wait_ms=500, min_bytes=1, session_epoch=-1, topics=rows)
    ends = request("ListOffsets", replica_id=-1, topics=[{"name": topic, "partitions": [end, end]}])
    with wire.part("ListOffsets"):
        _must_be_about_partition_0(wire.ask(ends, to=node), "topics")
    with wire.part("Fetch"):
        _must_be_about_partition_0(wire.ask(fetch, to=node, version=min(wire.versions("Fetch")[-1], 12)), "responses")
    twice = request("OffsetFetch", group_id=group, topics=[{"name": topic, "partition_indexes": [0, 0]}])
    with wire.part("OffsetFetch"):
        found = wire.ask(twice, to=wire.coordinator(group), version=min(wire.versions("OffsetFetch")[-1], 7))
        offsets = {row.committed_offset for part in found.must_succeed().struct.topics for row in part.partitions}
        found.must(offsets == {1}, f"offset 1 was committed, and the answer names {sorted(offsets)}", "topics")


def _must_be_about_partition_0(answer, rows):
    """The answer is about the partition that was named, whatever it says of it."""
    answer.must(answer.error in (0, errors.INVALID_REQUEST), f"the error is {errors.name(answer.error)}")
    named = {row.partition_index for part in getattr(answer.struct, rows) for row in part.partitions}
    answer.must(named == {0}, f"partition 0 was named, and the answer is about {sorted(named) or 'none'}", rows)
